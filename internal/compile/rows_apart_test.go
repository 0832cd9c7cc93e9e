package compile

import (
	"fmt"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestRowsApart: a tile of products, of floats and of bytes, has no more rows that lie in the same sets of L1 than these hold lines.
func TestRowsApart(t *testing.T) {
	o := Options{Target: targettest.Resolve(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -caches=32,1024,4096"), Level: 3, Module: "default"}
	const rows, columns, ways = 128, 64, 8
	for _, c := range []struct {
		dtype types.DType
		depth int
		most  int // rows
	}{
		{types.F32, 1000, 32}, {types.F32, 1024, ways}, {types.F32, 4096, ways},
		{types.U8, 1000, 32}, {types.U8, 1024, 32}, {types.U8, 4096, ways}, {types.U8, 12288, ways},
	} {
		g := &graph.Graph{Name: "main"}
		x := g.Input("x", types.Of(c.dtype, rows, c.depth))
		var n *graph.Node
		var err error
		if c.dtype == types.F32 {
			n, err = g.Apply(ops.Dense, op.None{}, x, graph.NewConst("", tensor.New(types.F32, columns, c.depth)))
		} else {
			zero := func(d types.DType) *graph.Value { return graph.NewConst("", tensor.New(d)) }
			n, err = g.Apply(ops.QnnMatmul, op.None{}, x, zero(types.U8), graph.NewConst("", tensor.New(types.I8, c.depth, columns)), zero(types.I8))
		}
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name, g.Outputs = "y", []*graph.Value{n.Out[0]}
		_, p, _ := plannedNetwork(t, g, o)
		asked := 0
		for _, s := range p.kernels() {
			var r, v int
			if _, err := fmt.Sscanf(s.plan.Taken["tile"], "%d x %d", &r, &v); err != nil {
				continue
			}
			if asked++; r > c.most || c.most > ways && r <= ways {
				t.Errorf("%d x %d of %s: a tile of %d rows", rows, c.depth, c.dtype, r)
			}
		}
		if asked != 1 {
			t.Errorf("%d x %d of %s: %d kernels have tiles", rows, c.depth, c.dtype, asked)
		}
	}
}
