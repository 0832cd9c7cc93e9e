package winograd_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/passtest"
	"lathe/internal/types"
)

// TestRewrite: convolutions with constant weights and kernels for which there are matrices, those of the phases with strides, become operators in the Winograd
// domain, which compute the same; others stay.
func TestRewrite(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	constant := func(shape ...int) *graph.Value {
		x := tensor.New(types.F32, shape...)
		for i := range x.Len() {
			x.SetFloat(i, r.NormFloat64())
		}
		return graph.NewConst("", x)
	}
	plain := ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Groups: 1}
	strided, far, both, dilated, grouped := plain, plain, plain, plain, plain
	strided.Strides, far.Strides, dilated.Dilation, grouped.Groups = []int{2, 2}, []int{3, 3}, []int{1, 2}, 2
	both.Strides, both.Dilation = []int{1, 2}, []int{1, 2}
	dilated.Padding = []int{1, 2, 1, 2}
	for _, c := range []struct {
		name     string
		attrs    ops.ConvAttrs
		weight   []int
		variable bool
		want     []*op.Def
	}{
		{"blocks", plain, []int{32, 32, 3, 3}, false, []*op.Def{ops.WinogradConv, ops.Add}},
		{"strided", strided, []int{64, 32, 5, 5}, false, []*op.Def{ops.WinogradInput, ops.WinogradProduct, ops.Add}},
		{"far", far, []int{32, 32, 3, 3}, false, []*op.Def{ops.Conv2d}},
		{"both", both, []int{32, 32, 3, 3}, false, []*op.Def{ops.Conv2d}},
		{"dilated", dilated, []int{32, 32, 3, 3}, false, []*op.Def{ops.WinogradConv, ops.Add}},
		{"five", plain, []int{32, 32, 5, 5}, false, []*op.Def{ops.WinogradConv, ops.Add}},
		{"even", plain, []int{32, 32, 2, 2}, false, []*op.Def{ops.WinogradConv, ops.Add}},
		{"mixed", plain, []int{32, 32, 3, 2}, false, []*op.Def{ops.Conv2d}},
		{"nine", plain, []int{32, 32, 9, 9}, false, []*op.Def{ops.Conv2d}},
		{"grouped", grouped, []int{32, 16, 3, 3}, false, []*op.Def{ops.Conv2d}},
		{"kernel", plain, []int{32, 32, 1, 1}, false, []*op.Def{ops.Conv2d}},
		{"channels", plain, []int{10, 32, 3, 3}, false, []*op.Def{ops.Conv2d}},
		{"variable", plain, []int{32, 32, 3, 3}, true, []*op.Def{ops.Conv2d}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &graph.Graph{Name: "main"}
			x, w := g.Input("x", types.Of(types.F32, 1, 32, 40, 40)), constant(c.weight...)
			if c.variable {
				w = g.Input("w", w.Type)
			}
			n, err := g.Apply(ops.Conv2d, c.attrs, x, w, constant(c.weight[0]))
			if err != nil {
				t.Fatal(err)
			}
			n.Out[0].Name = "y"
			g.Outputs = n.Out
			in := graphtest.Inputs(r, g)
			want, err := grapheval.Eval(g, in)
			if err != nil {
				t.Fatal(err)
			}
			passtest.Run(t, g, "ChooseImplementations", "Winograd")
			var got []*op.Def
			for _, n := range g.Nodes {
				got = append(got, n.Op)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s", g)
			}
			if err := evaltest.SameValues(g, in, want); err != nil {
				t.Error(err)
			}
		})
	}
}
