package tuning

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"lathe/internal/choice"
	"lathe/internal/records"
	"lathe/internal/tune"
)

// evil is a name that a page must not take for its own text.
const evil = `<script>alert("x")</script>`

// A machine whose kernels are fastest with tile 8 x 2 and eight steps; tiles of 24 rows do not build.
type machine struct{ passes int }

func decisions(p choice.Point) (*choice.Log, error) {
	log := &choice.Log{Chooser: p}
	for _, d := range []choice.Decision{
		{Name: "tile", Values: choice.Texts("1 x 1", "4 x 1", "8 x 1", "14 x 1", "4 x 2", "8 x 2", "14 x 2", "24 x 1"), Default: 6},
		{Name: "steps", Values: choice.Texts("1", "2", "4", "8"), Default: 1},
		choice.Whether("prefetch_panel", true),
		{Name: evil, Values: choice.Texts("off", evil)},
	} {
		if _, err := log.Decide(d); err != nil {
			return nil, err
		}
	}
	return log, p.Fits(log.Asked)
}

func ratio(b tune.Built) float64 {
	if b.Task == 2 {
		return 1.02 // what the rules take is best
	}
	return 0.7 + 0.1*math.Abs(math.Log2(float64(len(b.Taken["tile"]))/5)) + map[string]float64{"1": 0.3, "2": 0.15, "4": 0.05}[b.Taken["steps"]] +
		map[string]float64{"1 x 1": 0.8, "14 x 2": 0.15}[b.Taken["tile"]]
}

func (*machine) Build(_ context.Context, list []tune.Candidate) ([]tune.Built, error) {
	var out []tune.Built
	for _, c := range list {
		b := tune.Built{Candidate: c, Cycles: 1000, Code: 4000 + 100*len(c.Point), Spills: 0.01 * float64(len(c.Point)), Same: len(c.Point) == 0}
		log, err := decisions(c.Point)
		if err != nil {
			b.Fault, b.Message = records.Instantiation, err.Error()
		} else {
			b.Asked, b.Taken = log.Asked, log.Taken
		}
		if b.Taken["tile"] == "24 x 1" {
			b.Fault, b.Message = records.CompileHost, "no "+evil
		}
		out = append(out, b)
	}
	return out, nil
}

func (m *machine) Race(_ context.Context, list []tune.Built, stop tune.Stop) ([]tune.Samples, error) {
	out := make([]tune.Samples, len(list))
	for i, b := range list {
		s := &out[i]
		for n := stop.Next(0); n > 0; n = stop.Next(n) {
			for len(s.Times) < n {
				m.passes++
				s.Times, s.Host = append(s.Times, 100*ratio(b)*(1+0.02*math.Sin(float64(m.passes)))), append(s.Host, 100)
			}
			if stop.Leaves(b.Task, s.Times, s.Host) {
				break
			}
		}
	}
	return out, nil
}

func (*machine) Noise(context.Context, time.Duration) ([]float64, error) {
	return []float64{0.94, 1, 1.06}, nil
}

func (*machine) Networks(_ context.Context, points map[int]choice.Point, opens, pairs int) (tuned, host []float64, err error) {
	for range opens * pairs {
		tuned, host = append(tuned, 1000-100*float64(len(points))), append(host, 1000)
	}
	return tuned, host, nil
}

func report(t *testing.T) *Report {
	t.Helper()
	var tasks []tune.Task
	for i := range 3 {
		tasks = append(tasks, tune.Task{
			Index: i, Name: fmt.Sprint("fused_nn_conv2d_nn_relu_", i), Nodes: []string{fmt.Sprint("/layer", i, "/Conv"), evil}, Calls: i + 1, FLOPs: 1e8, Bytes: 1e6,
			Time: time.Duration(300+100*i) * time.Microsecond, Peak: 200 * time.Microsecond, Ops: []string{"nn.conv2d"},
			Shapes: []string{"float32[1,64,56,56]:ABCD16b", "const float32[64,64,3,3]:ABCD16b32a", "float32[1,64,56,56]:ABCD16b"},
			Key:    records.Key{Kernel: fmt.Sprint(i), Target: "x86_64"},
		})
	}
	m := &machine{}
	res, err := tune.Run(t.Context(), tasks, m, m, tune.Options{Trials: 90, Seed: 1, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &Report{Title: "net.onnx " + evil, Head: []string{"target llvm -mcpu=znver5, 1 thread"}, Host: 2600 * time.Microsecond, Result: &res,
		Assembly: map[int][2]string{0: {"vfmadd231ps " + evil, "vfmadd213ps"}},
		Graph: &Graph{Accepted: true, Verdict: tune.Estimate{Ratio: 0.8, Low: 0.78, High: 0.82, Pairs: 10}, Decided: []GraphDecision{{"/layer0/Conv " + evil, "algorithm", "direct"}},
			Trials: []GraphTrial{{Decision: "facts", From: "-fma-units=1", Value: "-fma-units=2", Ratio: 0.85}, {Nodes: []string{"/layer0/Conv", "/layer1/Conv"}, Decision: "algorithm", From: "winograd", Value: "direct", Ratio: 0.8},
				{Nodes: []string{evil}, Decision: "pack", From: "16", Value: "8", Fault: "output 0: integers differ"}}}}
}

// TestPage looks for what the page has to tell, and that names are text.
func TestPage(t *testing.T) {
	r := report(t)
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"as fast as untuned", "2 of 3", "kernels changed", "steps: 2 → <b>8</b>", "by the rules: ", "code: 4000 →", "µs of a run are above the roofline", " less</td>", "; 2 calls", "<polyline", "samples over trials",
		"Equal kernels differ much", "failed", "/layer1/Conv", "moves to and from the stack", "vfmadd231ps", "vfmadd213ps",
		"Decisions on the graph", "1.250 (1.220 to 1.282) times as fast with these decisions", "/layer0/Conv and 1 more", "winograd → direct", "integers differ", "all of the network", "-fma-units=1 → -fma-units=2",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script>alert", "ZgotmplZ", "NaN", "Inf", "http://", "https://"} {
		if strings.Contains(got, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if path := os.Getenv("LATHE_TUNING_PAGE"); path != "" { // to be looked at
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothing: a tuning without tasks has a page, too.
func TestNothing(t *testing.T) {
	m := &machine{}
	res, err := tune.Run(t.Context(), nil, m, m, tune.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := (&Report{Title: "net", Result: &res}).HTML(&b); err != nil || !strings.Contains(b.String(), "Nothing is accepted") {
		t.Errorf("%v: %.200s", err, b.String())
	}
}
