package pass

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// TestSeparateWindows folds windows of all kinds axis by axis, whatever that costs.
func TestSeparateWindows(t *testing.T) {
	separated := 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 97))
		rank := 2 + r.IntN(2)
		d := []*op.Def{ops.MaxPool[rank], ops.AvgPool[rank]}[r.IntN(2)]
		attrs, of := d.Sample(r)
		g := &graph.Graph{Name: "main"}
		n, err := g.Apply(d, attrs, g.Input("x", of[0]))
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name = "y"
		g.Outputs = []*graph.Value{n.Out[0]}
		in := []*tensor.Tensor{graphtest.Random(r, of[0], graphtest.Moderate)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		c := &Context{Graph: g, Target: machine, Level: 3, Chooser: func(string) choice.Chooser { return whereAsked{"windows": "by axis"} }}
		runIn(t, "SeparateWindows", c)
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
		if len(g.Nodes) > 1 {
			separated++
		}
	}
	if separated < 200 {
		t.Errorf("windows were folded axis by axis in %d cases", separated)
	}
}

// TestGatheredWindows: where a pooling has to gather the vectors of its windows, smaller windows are folded axis by axis than behind a
// convolution, whose channels are vectors.
func TestGatheredWindows(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 11))
		side, channels, plane := 3+r.IntN(3), 8*(1+r.IntN(4)), 40+r.IntN(20)
		stride := side - 1
		for _, conv := range []bool{false, true} {
			g := &graph.Graph{Name: "main"}
			x := g.Input("x", types.Of(types.F32, 1, channels, plane, plane))
			var err error
			if conv {
				n, e := g.Apply(ops.Conv2d, ops.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, Padding: make([]int, 4), Groups: 1}, x, g.Input("w", types.Of(types.F32, channels, channels, 1, 1)))
				if err = e; err == nil {
					x = n.Out[0]
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			n, err := g.Apply(ops.MaxPool2d, ops.PoolAttrs{PoolSize: []int{side, side}, Strides: []int{stride, stride}, Padding: make([]int, 4), Dilation: []int{1, 1}}, x)
			if err != nil {
				t.Fatal(err)
			}
			g.Outputs = []*graph.Value{n.Out[0]}
			before := len(g.Nodes)
			runIn(t, "SeparateWindows", &Context{Graph: g, Target: machine, Level: 3})
			if apart := len(g.Nodes) > before; apart == conv {
				t.Errorf("%d x %d with stride %d over %d x %d x %d, behind a convolution: %v: folded axis by axis: %v", side, side, stride, channels, plane, plane, conv, apart)
			}
		}
	}
}
