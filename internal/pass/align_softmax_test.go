package pass

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// TestAlignSoftmax moves lines of softmax and of its logarithm, whatever that costs, alone and where what is read or made is transposed. By default it does
// so where few of many lines lie side by side.
func TestAlignSoftmax(t *testing.T) {
	moved := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 61))
		rank := 2 + r.IntN(3)
		shape := make([]int, rank)
		for i := range shape {
			shape[i] = 1 + r.IntN(6)
		}
		g := &graph.Graph{Name: "main"}
		x := g.Input("x", types.Of(types.F32, shape...))
		v := x
		transpose := func() {
			if r.IntN(2) == 0 {
				return
			}
			n, err := g.Apply(ops.Transpose, ops.TransposeAttrs{Axes: r.Perm(rank)}, v)
			if err != nil {
				t.Fatal(err)
			}
			v = n.Out[0]
		}
		transpose()
		n, err := g.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: r.IntN(rank)}, v)
		if r.IntN(2) == 0 {
			n, err = g.Apply(ops.LogSoftmax, ops.SoftmaxAttrs{Axis: r.IntN(rank)}, v)
		}
		if err != nil {
			t.Fatal(err)
		}
		v = n.Out[0]
		transpose()
		v.Name, g.Outputs = "y", []*graph.Value{v}
		in := []*tensor.Tensor{graphtest.Random(r, x.Type, graphtest.Moderate)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		runIn(t, "AlignSoftmax", &Context{Graph: g, Target: machine, Level: 3, Chooser: func(string) choice.Chooser { return whereAsked{"softmax": "moved"} }})
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
		if g.String() != before {
			moved++
		}
	}
	if moved < 60 {
		t.Errorf("%d of 300 were changed", moved)
	}
	for _, c := range []struct {
		line, beside int
		moves        bool
	}{{384, 1, false}, {384, 2, true}, {384, 7, false}, {384, 8, false}, {1, 2, false}, {2, 2, false}} {
		g := &graph.Graph{Name: "main"}
		n, err := g.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, g.Input("x", types.Of(types.F32, 6400, c.line, c.beside)))
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name, g.Outputs = "y", n.Out
		if run(t, "AlignSoftmax", g); (len(g.Nodes) == 3) != c.moves {
			t.Errorf("%d lines of %d side by side: moved %t\n%s", c.beside, c.line, !c.moves, g)
		}
	}
}
