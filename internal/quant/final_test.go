package quant

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// clocked runs graphs by the definitions of operators, each node a step of a time that cost says.
type clocked struct {
	evaluated
	cost func(g *graph.Graph, n *graph.Node) time.Duration
}

func (c *clocked) StepTimes() ([]StepTime, error) {
	var list []StepTime
	for _, n := range c.g.Nodes {
		list = append(list, StepTime{n.Origin, c.cost(c.g, n)})
	}
	return list, nil
}

// perceptron is dense layers d0, d1, ... with relus behind them, and samples of its input.
func perceptron(t *testing.T, layers int) (*graph.Graph, list) {
	r := rand.New(rand.NewPCG(7, 79))
	random := func(shape ...int) *tensor.Tensor {
		x := tensor.New(types.F32, shape...)
		for i := range x.Len() {
			x.SetFloat(i, r.NormFloat64())
		}
		return x
	}
	g := &graph.Graph{Name: "main"}
	v := g.Input("x", types.Of(types.F32, 1, 8))
	apply := func(name string, d *op.Def, attrs any, in ...*graph.Value) {
		n, err := g.Apply(d, attrs, in...)
		if err != nil {
			t.Fatal(err)
		}
		n.Origin, v = []string{name}, n.Out[0]
	}
	for i := range layers {
		apply(fmt.Sprintf("d%d", i), ops.Dense, op.None{}, v, graph.NewConst(fmt.Sprintf("w%d", i), random(8, 8)))
		apply(fmt.Sprintf("r%d", i), ops.Relu, op.None{}, v)
	}
	v.Name, g.Outputs = "y", []*graph.Value{v}
	var samples list
	for range 8 {
		samples = append(samples, []*tensor.Tensor{random(1, 8)})
	}
	return g, samples
}

// integerLayers names the products of integers.
func integerLayers(g *graph.Graph) []string {
	var list []string
	for _, n := range g.Nodes {
		if classes[n.Op] == product && n.In[1].Def != nil && n.In[1].Def.Op == ops.Dequantize {
			list = append(list, n.Origin[0])
		}
	}
	return list
}

// TestMeasure: a layer whose kernels the clock finds slower as integers is float, with the reason, unless the network is slower by that; a network that no
// choice makes faster than the float one is refused; without Measure nothing changes but the report.
func TestMeasure(t *testing.T) {
	const layers = 5
	// cost is that of d2 as integers, that of the others, and that of a float layer among integers, of 100 as floats.
	clock := func(worst, others, alone time.Duration) func(g *graph.Graph, n *graph.Node) time.Duration {
		return func(g *graph.Graph, n *graph.Node) time.Duration {
			if classes[n.Op] != product {
				return 1
			}
			integers := fmt.Sprint(integerLayers(g))
			switch {
			case integers == "[]":
				return 100
			case !strings.Contains(integers, n.Origin[0]):
				return alone
			case n.Origin[0] == "d2":
				return worst
			}
			return others
		}
	}
	for _, c := range []struct {
		name                 string
		measure              bool
		worst, others, alone time.Duration
		want                 string
		refused, noted       bool
	}{
		{"all gain", true, 40, 40, 100, "[d0 d1 d2 d3 d4]", false, false},
		{"one loses", true, 150, 40, 100, "[d0 d1 d3 d4]", false, false},
		{"neighbours lose more", true, 150, 40, 400, "[d0 d1 d2 d3 d4]", false, false},
		{"one gains", true, 20, 150, 100, "[d2]", false, false},
		{"all lose", true, 200, 200, 100, "", true, false},
		{"nobody asks", false, 150, 40, 100, "[d0 d1 d2 d3 d4]", false, false},
		{"nobody asks, and it is slower", false, 200, 200, 100, "[d0 d1 d2 d3 d4]", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, samples := perceptron(t, layers)
			o := options(samples)
			o.CalibrateMode, o.Correct, o.Measure = "minmax", false, c.measure
			noted := false
			o.Notes = func(text string) { noted = noted || strings.Contains(text, "--measure") }
			o.Build = func(_ context.Context, g *graph.Graph) (Executable, error) {
				return &clocked{evaluated{g, make([]*tensor.Tensor, len(g.Inputs))}, clock(c.worst, c.others, c.alone)}, nil
			}
			res, err := Static(t.Context(), g, o)
			if c.refused {
				if !errors.Is(err, errSlower) {
					t.Fatalf("%v, and not the refusal of what is slower", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(integerLayers(res.Graph)); got != c.want {
				t.Errorf("on integers are %s, not %s", got, c.want)
			}
			if c.measure && res.Ms > res.FloatMs || res.FloatMs == 0 || noted != c.noted {
				t.Errorf("%g ms as integers, %g as floats, noted: %v", res.Ms, res.FloatMs, noted)
			}
			for _, l := range res.Layers {
				if float := !strings.Contains(c.want, l.Name); float != (l.Bits == 32) || float != strings.Contains(l.Why, "us as integers") {
					t.Errorf("layer %s has %d bits: %q", l.Name, l.Bits, l.Why)
				}
			}
		})
	}
}

// TestJoint: the time of a step counts for the nodes that it is the first to compute, together with the steps of the other network that compute
// some of them.
func TestJoint(t *testing.T) {
	float := &fixedTimes{steps: []StepTime{{[]string{"a", "b"}, 10}, {[]string{"c"}, 20}, {nil, 5}}}
	integer := &fixedTimes{steps: []StepTime{{[]string{"a"}, 3}, {[]string{"a", "b"}, 4}, {[]string{"b", "c"}, 7}}}
	got, err := race(t.Context(), float, integer)
	if err != nil {
		t.Fatal(err)
	}
	if got.float != 35 || got.integer != 14 {
		t.Errorf("runs take %d and %d", got.float, got.integer)
	}
	for node, want := range map[string]layerTime{"a": {10, 7}, "b": {10, 7}, "c": {20, 7}} {
		if got.layers[node] != want {
			t.Errorf("node %s: %v, not %v", node, got.layers[node], want)
		}
	}
}

type fixedTimes struct {
	evaluated
	steps []StepTime
}

func (f *fixedTimes) StepTimes() ([]StepTime, error) { return append([]StepTime{}, f.steps...), nil }

// liar gives wrong outputs where a network has more than one layer on integers, which the simulation knows nothing of.
type liar struct{ evaluated }

func (l *liar) Run() ([]*tensor.Tensor, error) {
	out, err := l.evaluated.Run()
	if err == nil && len(integerLayers(l.g)) > 1 {
		for i := range out[0].Len() {
			out[0].SetFloat(i, float64(-i))
		}
	}
	return out, err
}

// TestBudgetOfTheNetwork: a budget is kept by the network that is given back, and not just by its simulation.
func TestBudgetOfTheNetwork(t *testing.T) {
	g, samples := perceptron(t, 4)
	o := options(samples)
	o.CalibrateMode, o.Budget.MinAgreement = "minmax", 80
	o.Build = func(_ context.Context, g *graph.Graph) (Executable, error) {
		return &liar{evaluated{g, make([]*tensor.Tensor, len(g.Inputs))}}, nil
	}
	res, err := Static(t.Context(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(integerLayers(res.Graph)); n != 1 || res.Judged.Agreement() < 80 || res.SQNR < 10 {
		t.Errorf("%d layers are on integers, %.0f %% agree, %.1f dB", n, res.Judged.Agreement(), res.SQNR)
	}
}
