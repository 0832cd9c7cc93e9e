package pass

import (
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestFoldingBudget: chains on constants that ask for much more than the model holds, in memory or in steps, are left to run
// time; what is folded stays in proportion.
func TestFoldingBudget(t *testing.T) {
	apply := func(g *graph.Graph, d *op.Def, attrs any, in ...*graph.Value) *graph.Value {
		n, err := g.Apply(d, attrs, in...)
		if err != nil {
			t.Fatal(err)
		}
		return n.Out[0]
	}
	vector := func(n int) *graph.Value { return graph.NewConst("w", tensor.New(types.F32, n)) }
	square := func(n int) *graph.Value { return graph.NewConst("w", tensor.New(types.F32, n, n)) }
	for name, build := range map[string]func(g *graph.Graph) (y *graph.Value, left int){
		"repeated tiles": func(g *graph.Graph) (*graph.Value, int) { // 2 KB become 34 GB
			v := vector(512)
			for range 6 {
				v = apply(g, ops.Tile, ops.TileAttrs{Reps: []int{16}}, v)
			}
			return apply(g, ops.Max, ops.ReduceAttrs{Axis: []int{0}}, v), 3
		},
		"many large results": func(g *graph.Graph) (*graph.Value, int) { // each of 1 MB from 64 KB
			v := vector(1 << 14)
			sum := apply(g, ops.Max, ops.ReduceAttrs{Axis: []int{0}}, v)
			for i := range 200 {
				other := apply(g, ops.Add, op.None{}, v, graph.NewConst("", tensor.Scalar(float32(i))))
				big := apply(g, ops.Tile, ops.TileAttrs{Reps: []int{16}}, other)
				sum = apply(g, ops.Add, op.None{}, sum, apply(g, ops.Max, ops.ReduceAttrs{Axis: []int{0}}, big))
			}
			return sum, 100
		},
		"the same large result": func(g *graph.Graph) (*graph.Value, int) { // once
			v := vector(1 << 14)
			sum := apply(g, ops.Max, ops.ReduceAttrs{Axis: []int{0}}, v)
			for range 200 {
				big := apply(g, ops.Tile, ops.TileAttrs{Reps: []int{16}}, v)
				sum = apply(g, ops.Add, op.None{}, sum, apply(g, ops.Max, ops.ReduceAttrs{Axis: []int{0}}, big))
			}
			return sum, 0
		},
		"products": func(g *graph.Graph) (*graph.Value, int) {
			return apply(g, ops.Dense, op.None{}, apply(g, ops.Dense, op.None{}, square(768), square(768)), square(768)), 0
		},
		"too many products": func(g *graph.Graph) (*graph.Value, int) { // 10^9 steps each
			v := square(1024)
			for range 40 {
				v = apply(g, ops.Matmul, ops.MatmulAttrs{}, v, v)
			}
			return v, 30
		},
		"normalised weights": func(g *graph.Graph) (*graph.Value, int) {
			w := square(512)
			norm := apply(g, ops.Sqrt, op.None{}, apply(g, ops.Sum, ops.ReduceAttrs{Axis: []int{1}, KeepDims: true}, apply(g, ops.Multiply, op.None{}, w, w)))
			return apply(g, ops.Multiply, op.None{}, vector(512), apply(g, ops.Divide, op.None{}, w, norm)), 0
		},
		"many windows": func(g *graph.Graph) (*graph.Value, int) { // beside weights that have nothing to do with them
			v := graph.NewConst("w", tensor.New(types.F32, 1, 1, 256, 256))
			a := ops.PoolAttrs{PoolSize: []int{33, 33}, Strides: []int{1, 1}, Padding: []int{16, 16, 16, 16}, Dilation: []int{1, 1}}
			for range 30 {
				v = apply(g, ops.MaxPool2d, a, v)
			}
			return apply(g, ops.Add, op.None{}, v, apply(g, ops.Max, ops.ReduceAttrs{Axis: []int{0}}, vector(1<<22))), 28
		},
		"products of short lines": func(g *graph.Graph) (*graph.Value, int) {
			v := graph.NewConst("w", tensor.New(types.F32, 1, 32, 32, 32, 2))
			a := ops.ConvAttrs{Strides: []int{1, 1, 1}, Padding: []int{3, 3, 0, 3, 3, 0}, Dilation: []int{1, 1, 1}, Groups: 1}
			for range 30 {
				v = apply(g, ops.Conv3d, a, v, graph.NewConst("k", tensor.New(types.F32, 32, 32, 7, 7, 1)))
			}
			return v, 28
		},
		"a window of all": func(g *graph.Graph) (*graph.Value, int) {
			x := graph.NewConst("w", tensor.New(types.F32, 1, 1, 1, 8))
			a := ops.PoolAttrs{PoolSize: []int{1 << 13, 1 << 13}, Strides: []int{1, 1}, Padding: []int{1<<13 - 1, 1<<13 - 8, 0, 0}, Dilation: []int{1, 1}}
			return apply(g, ops.MaxPool2d, a, x), 1
		},
	} {
		g := &graph.Graph{}
		y, left := build(g)
		y.Name = "y"
		g.Outputs = []*graph.Value{y}
		held := 0
		for _, v := range g.Constants() {
			held += len(v.Const.Bytes())
		}
		if err := foldConstant(&Context{Graph: g}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		made := 0
		for _, v := range g.Constants() {
			made += len(v.Const.Bytes())
		}
		if made > leastFoldBytes+(1+foldBytesPerByte)*held {
			t.Errorf("%s: %d bytes of constants became %d", name, held, made)
		}
		if len(g.Nodes) < left {
			t.Errorf("%s: %d nodes are left, want %d or more", name, len(g.Nodes), left)
		}
		if left == 0 && len(g.Nodes) > 1 { // but what writes the output
			t.Errorf("%s: %d nodes are left", name, len(g.Nodes))
		}
		if err := graph.Verify(&graph.Graph{Name: "g", Inputs: g.Inputs, Outputs: g.Outputs, Nodes: g.Nodes}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
