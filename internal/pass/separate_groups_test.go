package pass

import (
	"fmt"
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

// groupedIntegers is a convolution of bytes in groups of random channels, along one to three axes.
func groupedIntegers(t *testing.T, r *rand.Rand, groups, in, out int) (*graph.Graph, []*tensor.Tensor) {
	t.Helper()
	rank := 1 + r.IntN(3)
	a := ops.ConvAttrs{Groups: groups}
	data, weights := []int{1 + r.IntN(2), groups * in}, []int{groups * out, in}
	for range rank {
		k := 1 + r.IntN(3)
		data, weights = append(data, k+r.IntN(6)), append(weights, k)
		a.Strides, a.Dilation = append(a.Strides, 1+r.IntN(2)), append(a.Dilation, 1)
	}
	for range 2 * rank {
		a.Padding = append(a.Padding, r.IntN(2))
	}
	g := &graph.Graph{Name: "main"}
	x := types.Of(types.U8, data...)
	zero := func(d types.DType) *graph.Value { return graph.NewConst(fmt.Sprint("zero", d), tensor.New(d)) }
	w := graphtest.Random(r, types.Of(types.I8, weights...), graphtest.Moderate)
	n, err := g.Apply(ops.QnnConv[rank], a, g.Input("x", x), zero(types.U8), graph.NewConst("w", w), zero(types.I8))
	if err != nil {
		t.Fatal(err)
	}
	n.Out[0].Name, g.Outputs = "y", n.Out
	return g, []*tensor.Tensor{graphtest.Random(r, x, graphtest.Moderate)}
}

// TestSeparateGroups computes groups one by one, whatever that costs.
func TestSeparateGroups(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 89))
		groups := 2 + r.IntN(3)
		g, in := groupedIntegers(t, r, groups, 2+r.IntN(9), 1+r.IntN(11))
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		runIn(t, "SeparateGroups", &Context{Graph: g, Target: machine, Level: 3, Chooser: func(string) choice.Chooser { return whereAsked{"groups": "apart"} }})
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
	}
}

// TestGroupsThatFillVectors: groups stay together where their channels fill vectors and dot products, and where they have few; those that would fill a
// small part of a vector are computed one by one.
func TestGroupsThatFillVectors(t *testing.T) {
	for _, c := range []struct {
		groups, channels int
		apart            bool
	}{{2, 16, false}, {4, 8, false}, {32, 4, false}, {2, 18, true}, {3, 17, true}, {4, 60, true}, {64, 17, false}} {
		g := &graph.Graph{Name: "main"}
		a := ops.ConvAttrs{Groups: c.groups, Strides: []int{1, 1}, Dilation: []int{1, 1}, Padding: []int{1, 1, 1, 1}}
		zero := func(d types.DType) *graph.Value { return graph.NewConst(fmt.Sprint("zero", d), tensor.New(d)) }
		w := graph.NewConst("w", tensor.New(types.I8, c.groups*c.channels, c.channels, 3, 3))
		n, err := g.Apply(ops.QnnConv2d, a, g.Input("x", types.Of(types.U8, 1, c.groups*c.channels, 28, 28)), zero(types.U8), w, zero(types.I8))
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name, g.Outputs = "y", n.Out
		if run(t, "SeparateGroups", g); (len(g.Nodes) > 1) != c.apart {
			t.Errorf("%d groups of %d channels: apart %t, want %t", c.groups, c.channels, !c.apart, c.apart)
		}
	}
}
