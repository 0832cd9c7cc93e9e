package sweep

import (
	"bytes"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"lathe/internal/testkit/golden"
)

// took is a measurement on a machine that is busy: wall times are thrice the processor times on the peer's side.
func took(lathe, peer float64) Measurement {
	return Measurement{Lathe: Side{Wall: lathe, CPU: lathe, Runs: 9}, Peer: Side{Wall: 3 * peer, CPU: peer, Runs: 9}}
}

func TestSettle(t *testing.T) {
	var f Family
	for _, c := range []struct {
		repeats   []Measurement
		processor bool
		ratio     float64
		lathe     float64
	}{
		{nil, true, 0.5, 4},
		{nil, false, 1.5, 4},
		{[]Measurement{took(1, 3), took(1, 0.5), took(2, 1.8), took(1, 0.7), took(1, 2)}, true, 0.9, 2},
		{[]Measurement{took(1, 3), took(1, 0.5), took(2, 1.8), took(1, 0.7), took(1, 2)}, false, 2.7, 2},
	} {
		var r Result
		r.Settle(f, took(4, 2), c.repeats, c.processor)
		if math.Abs(r.Ratio-c.ratio) > 1e-12 || r.Lathe.CPU != c.lathe || len(r.Repeats) != len(c.repeats) {
			t.Errorf("ratio %v with %v ms of %v, not %v with %v ms", r.Ratio, r.Lathe.CPU, r.Repeats, c.ratio, c.lathe)
		}
	}
}

func TestWrong(t *testing.T) {
	float, bytes, half := Family{}, Family{Kind: quantised}, Family{Kind: float16}
	for _, c := range []struct {
		family   Family
		dtype    string
		distance float64
		wrong    bool
	}{
		{float, "float32", 9e-5, false}, {float, "float32", 2e-4, true}, {float, "int64", 0, false}, {float, "int64", 1e-9, true},
		{float, "bool", 0.5, true}, {bytes, "uint8", 0.04, false}, {bytes, "float32", 0.06, true}, {half, "float16", 4e-3, false}, {half, "float16", 6e-3, true}, {float, "float32", math.MaxFloat64, true},
	} {
		m := took(1, 1)
		m.Outputs = []Output{{"float32", 0}, {c.dtype, c.distance}}
		var r Result
		if r.Settle(c.family, m, nil, true); r.Wrong != c.wrong {
			t.Errorf("%s at distance %v: wrong is %v", c.dtype, c.distance, r.Wrong)
		}
	}
}

func TestSummary(t *testing.T) {
	var list []Result
	for _, ratio := range []float64{0.5, 2, 0.9, 0.95, 0.8, 0} {
		list = append(list, Result{Family: "f", Name: "f/x", Ratio: ratio})
	}
	got := summarise("f", list)
	want := math.Pow(0.5*2*0.9*0.95*0.8, 0.2)
	if got.Count != 5 || math.Abs(got.Mean-want) > 1e-12 || got.Least != 0.5 || got.Below95 != 0.6 || got.Below80 != 0.2 {
		t.Errorf("%+v, mean %v wanted", got, want)
	}
}

// sample has a family that is fast, one that is not, a slow compilation, outputs that differ, and cases without a ratio.
func sample() *Report {
	r := &Report{
		Seconds: 61, Lathe: "0.1.0, LLVM 22", Peer: "onnxruntime 1.30.0", Target: "llvm", Level: 3, CPU: "test CPU", Features: []string{"avx2", "fma"},
		Cores: 2, Load: [2]string{"0.10", "1.02"}, OthersShare: 0.04, Threads: 1, Processor: true,
	}
	for _, c := range []struct {
		family, name string
		lathe, peer  float64
		compile      float64
		distance     float64
	}{
		{"conv2d", "a", 1, 2, 0.5, 1e-6}, {"conv2d", "b", 1, 1.2, 0.5, 1e-3}, {"rnn", "long", 20, 4, 12, 1e-6}, {"rnn", "short", 0.01, 0.009, 1, 1e-6},
	} {
		x := Result{Family: c.family, Name: c.family + "/" + c.name, CompileSeconds: c.compile, CompileMB: 300}
		m := took(c.lathe, c.peer)
		m.Outputs = []Output{{"float32", c.distance}}
		x.Settle(Family{}, m, nil, true)
		r.Results = append(r.Results, x)
	}
	r.Results = append(r.Results, Result{Family: "fp16", Name: "fp16/no", Missing: "not implemented"}, Result{Family: "fp16", Name: "fp16/crash", Error: "signal: killed"})
	return r
}

// TestPrint compares the text, which does not depend on the order the cases ran in.
func TestPrint(t *testing.T) {
	var text, reversed bytes.Buffer
	r := sample()
	r.Print(&text)
	golden.Check(t, "report", text.Bytes())
	slices.Reverse(r.Results)
	r.Print(&reversed)
	if !bytes.Equal(text.Bytes(), reversed.Bytes()) {
		t.Error("the report depends on the order of the results")
	}
	if r.Verdict() == nil {
		t.Error("a failed case and wrong outputs are no error")
	}
}

func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	want := sample()
	if err := want.Write(file); err != nil {
		t.Fatal(err)
	}
	got, err := Read(file)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestDiff has a case that got slower, one that got faster, one that moved less than noise, one that went and one that came.
func TestDiff(t *testing.T) {
	before, after := sample(), sample()
	for i, factor := range []float64{0.5, 1.05, 4} {
		after.Results[i].Ratio *= factor
		after.Results[i].Lathe.CPU /= factor
	}
	after.Results[3].Name = "rnn/other"
	var text bytes.Buffer
	Diff(&text, before, after)
	golden.Check(t, "diff", text.Bytes())
}
