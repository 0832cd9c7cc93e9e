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

// TestAlignArg makes lanes of lines whose extreme's place is wanted, whatever that costs; by default only of many short ones.
func TestAlignArg(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 67))
		shape := make([]int, 2+r.IntN(3))
		for i := range shape {
			shape[i] = 2 + r.IntN(5)
		}
		g := &graph.Graph{Name: "main"}
		x := g.Input("x", types.Of([]types.DType{types.F32, types.U8, types.F64}[r.IntN(3)], shape...))
		a := ops.ArgAttrs{Axis: len(shape) - 1, KeepDims: r.IntN(2) == 0, SelectLastIndex: r.IntN(2) == 0}
		d := ops.ArgMax
		if r.IntN(2) == 0 {
			d = ops.ArgMin
		}
		n, err := g.Apply(d, a, x)
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name, g.Outputs = "y", n.Out
		in := []*tensor.Tensor{graphtest.Random(r, x.Type, graphtest.Moderate)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		runIn(t, "AlignSoftmax", &Context{Graph: g, Target: machine, Level: 3, Chooser: func(string) choice.Chooser { return whereAsked{"argmax": "moved"} }})
		if len(g.Nodes) < 2 {
			t.Fatalf("seed %d: nothing is moved\n%s", seed, before)
		}
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
	}
	for _, c := range []struct {
		lines, line int
		moves       bool
	}{{20000, 3, true}, {5000, 8, true}, {4, 3, false}, {200, 1000, false}} {
		g := &graph.Graph{Name: "main"}
		n, err := g.Apply(ops.ArgMax, ops.ArgAttrs{Axis: 1}, g.Input("x", types.Of(types.F32, c.lines, c.line)))
		if err != nil {
			t.Fatal(err)
		}
		g.Outputs = n.Out
		if run(t, "AlignSoftmax", g); (len(g.Nodes) == 2) != c.moves {
			t.Errorf("%d lines of %d: moved %v\n%s", c.lines, c.line, !c.moves, g)
		}
	}
}
