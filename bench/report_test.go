package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"lathe/internal/testkit/golden"
	"lathe/internal/tool/machine"
)

// sample has a network on which Lathe is faster than one peer and slower than the other, an int8 network one peer lacks,
// one with fewer operations, one that is skipped, and names that are not HTML.
func sample() *report {
	side := func(ms float64) *timing { return &timing{Median: ms, CPU: ms, Lowest: ms, Min: ms, Runs: 3} }
	r := &report{
		Lathe: "lathe <test>", Target: "llvm", Peers: []named{{"onnxruntime", "1.30.0"}, {"torch", "1.13"}},
		Peaks: []machine.Peaks{{Threads: 1, FMA512: 250, FMA256: 125, FMA128: 62, Int8: 1000, Read: 40}, {Threads: 2, FMA512: 500, FMA256: 250, FMA128: 124, Int8: 2000, Read: 80}},
	}
	for _, w := range []row{
		{Model: "net<b>", Batch: 1, Threads: 1, Lathe: side(10), GFLOP: 2, GFLOPKernels: 2, Peers: []rival{{Name: "onnxruntime", Time: side(8)}, {Name: "torch", Time: side(20)}}},
		{Model: "net<b>", Batch: 1, Threads: 2, Lathe: side(5), GFLOP: 2, GFLOPKernels: 2, Peers: []rival{{Name: "onnxruntime", Time: side(6)}, {Name: "torch", Time: side(10)}}},
		{Model: "winograd", Batch: 1, Threads: 1, Lathe: side(100), GFLOP: 40, GFLOPKernels: 20, Peers: []rival{{Name: "onnxruntime", Time: side(180)}, {Name: "torch", Time: side(200)}}},
		{Model: "bytes", Batch: 1, Threads: 1, Quantised: true, Lathe: side(4), GFLOP: 3, GFLOPKernels: 3, Peers: []rival{{Name: "onnxruntime", Time: side(5), SameTop: true}, {Name: "torch", Missing: "not supported: <i>"}}},
		{Model: "net<b>", Batch: 8, Threads: 1, Lathe: side(70), GFLOP: 16, GFLOPKernels: 16, Peers: []rival{{Name: "onnxruntime", Time: side(80)}, {Name: "torch", Time: side(90), Difference: 0.5}}},
		{Model: "bytes", Batch: 8, Skipped: "the graph fixes the batch"},
		{Model: "broken", Batch: 1, Error: "compile: no"},
	} {
		if w.Lathe != nil {
			w.finish(w.GFLOPKernels / 250 * 1e3)
		}
		r.Rows = append(r.Rows, w)
	}
	return r
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	sample().markdown(&b)
	golden.Check(t, "table", b.Bytes())
}

func TestWinogradIsEffective(t *testing.T) {
	w := sample().Rows[2]
	if math.Abs(w.PeakShare-0.8) > 1e-9 || math.Abs(w.EffShare-1.6) > 1e-9 || math.Abs(w.Effective-400) > 1e-9 {
		t.Errorf("%.2f of the peak, %.2f effective, %.0f GFLOP/s", w.PeakShare, w.EffShare, w.Effective)
	}
}

func TestVerdict(t *testing.T) {
	err := sample().verdict()
	if err == nil || !strings.Contains(err.Error(), "net<b> (1 thread), broken") {
		t.Errorf("verdict %v", err)
	}
}

// TestPage writes the page and reads the results back.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	if err := sample().write(dir); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	r, err := readReport(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.page(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"net<b>", "<i>", "<test>", "NaN", "Inf", "ZgotmplZ"} {
		if strings.Contains(regexp.MustCompile(`<i (class="light" )?style`).ReplaceAllString(page, ""), bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
	if n := strings.Count(page, "<svg"); n != 5 { // ratios, and times by threads, of each batch; batch 8 has none with 2 threads
		t.Errorf("%d charts", n)
	}
	for _, want := range []string{"<svg", "the graph fixes the batch", "compile: no", "1.80", "160 %"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	body := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(page, "")
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta", "input", "br"}, xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLogTicks(t *testing.T) {
	for _, c := range []struct{ low, high, first, last float64 }{{3, 40, 2, 50}, {1, 1, 1, 2}, {0.07, 0.3, 0.05, 0.5}, {5, 10, 5, 10}} {
		got := logTicks(c.low, c.high)
		if math.Abs(got[0]-c.first) > 1e-9 || math.Abs(got[len(got)-1]-c.last) > 1e-9 || len(got) < 2 {
			t.Errorf("%v to %v: ticks %v", c.low, c.high, got)
		}
	}
}
