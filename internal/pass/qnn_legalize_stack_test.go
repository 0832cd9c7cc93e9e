package pass

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
	"lathe/internal/types"
)

// TestSeparateStack: products with a constant stack of matrices of bytes are one of each matrix, whatever axes they broadcast along, with a zero point for all columns or one of each.
func TestSeparateStack(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 97))
		m, k, n, stack := 1+r.IntN(5), 1+r.IntN(9), 1+r.IntN(9), 2+r.IntN(4)
		data := [][]int{{m, k}, {stack, m, k}, {1, m, k}, {3, stack, m, k}, {2, 1, m, k}}[r.IntN(5)]
		weights := []int{stack, k, n}
		if r.IntN(3) == 0 {
			weights, data = []int{stack, 1, k, n}, [][]int{{m, k}, {stack, 3, m, k}, {3, m, k}}[r.IntN(3)]
		}
		x, w := types.Of(types.U8, data...), types.Of([]types.DType{types.I8, types.U8}[r.IntN(2)], weights...)
		g := &graph.Graph{Name: "main"}
		number := func(d types.DType, v int) *graph.Value {
			c := tensor.New(d)
			c.SetFloat(0, float64(v))
			return graph.NewConst("", c)
		}
		zero := number(w.DType, r.IntN(100))
		if r.IntN(2) == 0 {
			zero = graph.NewConst("", graphtest.Random(r, types.Of(w.DType, n), graphtest.Moderate))
		}
		p, err := g.Apply(ops.QnnMatmul, op.None{}, g.Input("x", x), number(types.U8, r.IntN(256)), graph.NewConst("w", graphtest.Random(r, w, graphtest.Moderate)), zero)
		if err != nil {
			t.Fatal(err)
		}
		p.Out[0].Name, g.Outputs = "y", p.Out
		in := []*tensor.Tensor{graphtest.Random(r, x, graphtest.Moderate)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		runIn(t, "QnnLegalize", &Context{Graph: g, Target: machine, Level: 3})
		if slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return n.Op == ops.QnnMatmul && n.In[2].Type.Rank() > 2 }) {
			t.Fatalf("seed %d: a product has a stack still\n%s\n%s", seed, before, g)
		}
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
	}
}
