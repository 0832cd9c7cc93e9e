package profile

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"lathe/internal/testkit/golden"
	"lathe/runtime"
)

// network has a kernel near the peak, one far from it, one that reads much, and names that are not HTML.
func network(peaks Peaks) *Run {
	step := func(i int, took time.Duration, s runtime.Step) runtime.StepTime {
		return runtime.StepTime{Index: i, Step: s, Median: took, Min: took}
	}
	info := &runtime.Info{FLOPs: 700e6, Lathe: "0.1.0"}
	info.Target.String, info.Source.File = "llvm -mcpu=znver5", "net<i>.onnx"
	runs := []time.Duration{2 * time.Millisecond, 3 * time.Millisecond, 2100 * time.Microsecond}
	r := New("a <b>net</b>", info, 1, &runtime.Profile{Runs: runs, Steps: []runtime.StepTime{
		step(0, time.Millisecond, runtime.Step{
			Name: "fused_nn_conv2d", Ops: []string{"nn.conv2d"}, Anchor: "nn.conv2d", Nodes: []string{"/conv"}, FLOPs: 240e6, Bytes: 1e6, Rule: "tile",
			Why: "14 x 2", Multiply: "float32",
		}),
		step(1, time.Millisecond, runtime.Step{
			Name: "fused_nn_conv2d_nn_relu", Ops: []string{"nn.conv2d", "nn.relu"}, Anchor: "nn.conv2d", Nodes: []string{"<script>alert(1)</script>", "/relu"},
			FLOPs: 60e6, Bytes: 1e6, Rule: "tile", Multiply: "float32", Reads: []string{"float32[1,3]"}, Writes: []string{"float32[1,3]"},
		}),
		step(2, 100*time.Microsecond, runtime.Step{Name: "fused_add", Ops: []string{"add"}, FLOPs: 1000, Bytes: 3.6e6}),
		step(3, 50*time.Microsecond, runtime.Step{Name: "fused_qnn_dense", Ops: []string{"qnn.dense"}, FLOPs: 40e6, Bytes: 1000, Multiply: "uint8"}),
	}}, peaks)
	r.CPU, r.Date = "A <CPU>", time.Date(2026, 11, 22, 9, 5, 0, 0, time.UTC)
	return r
}

var peaks = Peaks{Float32: 250, Int8: 1000, Read: 40}

// TestPeakOf: a step is compared with what the machine reaches by the instructions that it is made of.
func TestPeakOf(t *testing.T) {
	p := Peaks{Float32: 100, Int8: 400, Tiles: 2000}
	for _, c := range []struct {
		multiply, rule string
		want           float64
	}{{"float32", "tile", 100}, {"int8", "tile", 400}, {"uint8", "matrix", 2000}, {"int8", "matrix", 2000}, {"float64", "tile", 50}, {"", "matrix", 100}} {
		if got := p.Of(runtime.Step{Multiply: c.multiply, Rule: c.rule}); got != c.want {
			t.Errorf("%s by %s: %g, want %g", c.multiply, c.rule, got, c.want)
		}
	}
	p.Tiles = 0
	if got := p.Of(runtime.Step{Multiply: "int8", Rule: "matrix"}); got != 400 {
		t.Errorf("registers that were not measured: %g", got)
	}
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := errors.Join(network(peaks).Text(&b), network(Peaks{}).Text(&b)); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "profile", b.Bytes())
}

// What programs read keeps its names.
func TestData(t *testing.T) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	if err := errors.Join(e.Encode(network(peaks).Data()), network(peaks).CSV(&b)); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "data", b.Bytes())
}

// Steps that take much more or much less than a run do not tell about it, and every form says so.
func TestDoubt(t *testing.T) {
	for _, c := range []struct {
		whole time.Duration
		doubt bool
	}{{2150 * time.Microsecond, false}, {1500 * time.Microsecond, false}, {3 * time.Millisecond, false}, {1400 * time.Microsecond, true}, {4 * time.Millisecond, true}} {
		r := network(peaks)
		r.Median = us(c.whole)
		var text, page bytes.Buffer
		if err := errors.Join(r.Text(&text), r.HTML(&page)); err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{text.String(), page.String(), r.Data().Doubt} {
			if strings.Contains(s, "times a whole run") != (c.doubt && r.Sum.Us > r.Median) || strings.Contains(s, "times the sum") != (c.doubt && r.Sum.Us < r.Median) {
				t.Errorf("a run of %v, steps of %.0f us: %s", c.whole, r.Sum.Us, s)
			}
		}
	}
}

// Nothing is divided by what may be zero: kernels of no work, runs too quick for the clock, machines that were not measured.
func TestZero(t *testing.T) {
	for i := range 64 {
		unless := func(bit int, v int64) int64 { return map[bool]int64{true: v}[i&bit != 0] }
		took := time.Duration(unless(1, 500))
		p := &runtime.Profile{Runs: []time.Duration{time.Duration(unless(2, 700))}, Steps: []runtime.StepTime{
			{Step: runtime.Step{Name: "k", FLOPs: unless(4, 100), Bytes: unless(8, 100), Multiply: map[bool]string{true: "int8"}[i&16 != 0]}, Median: took, Min: took},
		}}
		r := New("net", &runtime.Info{FLOPs: unless(4, 1000)}, 1, p, Peaks{Float32: float64(unless(16, 100)), Int8: float64(unless(32, 100)), Read: float64(unless(32, 100))})
		var text, page, table, data bytes.Buffer
		if err := errors.Join(r.Text(&text), r.HTML(&page), r.CSV(&table), json.NewEncoder(&data).Encode(r.Data())); err != nil {
			t.Error(err)
		}
		for _, s := range []string{text.String(), page.String(), table.String(), data.String()} {
			if strings.Contains(s, "Inf") || strings.Contains(s, "NaN") {
				t.Errorf("case %d: %s", i, s)
			}
		}
	}
}

func TestOrder(t *testing.T) {
	r := network(peaks)
	if first := r.Kernels[0]; first.Index != 1 || first.Lost() < 759 || first.Lost() > 761 || first.Peak < 23.9 || first.Peak > 24.1 {
		t.Errorf("first is kernel %d, %.1f us lost at %.1f %% of the peak", first.Index, first.Lost(), first.Peak)
	}
	if g := r.Groups[0]; g.Operator != "nn.conv2d" || g.Kernels != 2 || g.Us != 2000 {
		t.Errorf("first group %+v", g)
	}
	if lost := r.Sum.Lost(); lost < 819 || lost > 821 {
		t.Errorf("%.1f us lost together", lost)
	}
}

// TestPage parses the page as the browser's stricter cousin does and looks for what names could have broken.
func TestPage(t *testing.T) {
	for _, peaks := range []Peaks{peaks, {}} {
		var b bytes.Buffer
		if err := network(peaks).HTML(&b); err != nil {
			t.Fatal(err)
		}
		page := b.String()
		for _, bad := range []string{"<script>alert", "<b>net", "<i>", "<CPU>", "ZgotmplZ", "NaN", "Inf"} {
			if strings.Contains(page, bad) {
				t.Errorf("the page contains %q", bad)
			}
		}
		if n := strings.Count(page, "<tr>"); n != 2+4+3 { // heads, kernels, groups
			t.Errorf("%d rows", n)
		}
		checkElements(t, page)
	}
}

// checkElements fails when elements are not closed in order.
func checkElements(t *testing.T, page string) {
	t.Helper()
	body := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(page, "")
	d := xml.NewDecoder(strings.NewReader(body))
	d.Strict, d.AutoClose, d.Entity = false, []string{"meta", "input", "br"}, xml.HTMLEntity
	for depth := 0; ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
		if depth < 0 {
			t.Fatal("an element is closed twice")
		}
	}
}
