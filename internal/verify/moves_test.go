package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestMoves moves elements to places that bend, repeat or turn around along the innermost axis: borders that are reflected and
// repeated, whole tensors that are, slices backwards and by steps. Rows are several vectors of any width long.
func TestMoves(t *testing.T) {
	t.Parallel()
	samples := uint64(40)
	if testing.Short() {
		samples = 10
	}
	for _, tgt := range targettest.Executed(t) {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 101))
			in := types.Of([]types.DType{types.F32, types.F32, types.F16, types.U8, types.I64}[r.IntN(5)], 1+r.IntN(3), 1+r.IntN(9), 1+r.IntN(70))
			d, attrs := randomMove(r, in)
			t.Run(fmt.Sprintf("%d vectors of %d bits/%d: %s of %s %+v", tgt.VectorRegs, tgt.VectorBits, seed, d.Name, in, attrs), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				n, err := g.Apply(d, attrs, g.Input("x", in))
				if err != nil {
					t.Fatal(err)
				}
				n.Out[0].Name, g.Outputs = "y", []*graph.Value{n.Out[0]}
				moved(t, g, tgt, []*tensor.Tensor{random(r, in)})
			})
		}
	}
}

// TestInterleaved takes planes apart whose elements lie between each other's, as channels that lie innermost: few planes, which are
// written together, and more, of any length.
func TestInterleaved(t *testing.T) {
	t.Parallel()
	samples := uint64(30)
	if testing.Short() {
		samples = 8
	}
	for _, tgt := range targettest.Executed(t) {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 103))
			in := types.Of([]types.DType{types.F32, types.F32, types.F16, types.U8, types.I64}[r.IntN(5)], 1+r.IntN(3), 1+r.IntN(300), 2+r.IntN(4))
			t.Run(fmt.Sprintf("%d vectors of %d bits/%d: %s", tgt.VectorRegs, tgt.VectorBits, seed, in), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				n, err := g.Apply(ops.Transpose, ops.TransposeAttrs{Axes: []int{0, 2, 1}}, g.Input("x", in))
				if err != nil {
					t.Fatal(err)
				}
				n.Out[0].Name, g.Outputs = "y", []*graph.Value{n.Out[0]}
				moved(t, g, tgt, []*tensor.Tensor{random(r, in)})
			})
		}
	}
}

// TestJoins joins tensors of one to several vectors along every axis: parts that are whole vectors, and others.
func TestJoins(t *testing.T) {
	t.Parallel()
	samples := uint64(30)
	if testing.Short() {
		samples = 8
	}
	for _, tgt := range targettest.Executed(t) {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 103))
			dtype := []types.DType{types.F32, types.F32, types.F16, types.U8, types.I64}[r.IntN(5)]
			shape, axis, unit := []int{1 + r.IntN(3), 1 + r.IntN(9), 1 + r.IntN(70)}, r.IntN(3), 1+15*r.IntN(2)
			t.Run(fmt.Sprintf("%d vectors of %d bits/%d: %s %v axis %d", tgt.VectorRegs, tgt.VectorBits, seed, dtype, shape, axis), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				var in []*graph.Value
				var x []*tensor.Tensor
				for k := range 2 + r.IntN(4) {
					shape[axis] = unit * (1 + r.IntN(7))
					of := types.Of(dtype, slices.Clone(shape)...)
					in, x = append(in, g.Input(fmt.Sprint("x", k), of)), append(x, random(r, of))
				}
				n, err := g.Apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: axis}, in...)
				if err != nil {
					t.Fatal(err)
				}
				n.Out[0].Name, g.Outputs = "y", []*graph.Value{n.Out[0]}
				moved(t, g, tgt, x)
			})
		}
	}
}

// moved compares what a graph gives of x with its evaluation: the same elements.
func moved(t *testing.T, g *graph.Graph, tgt *target.Target, x []*tensor.Tensor) {
	t.Helper()
	want, err := grapheval.Eval(g, x)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t, g, compile.Options{Target: tgt, Level: 3, Workers: 2}, 2, x)
	if err != nil {
		t.Fatal(err)
	}
	if diff, err := difference(want[0], got[0]); err != nil || diff != 0 {
		t.Errorf("differs by %g: %v", diff, err)
	}
}

// randomMove is an operator that moves elements of in.
func randomMove(r *rand.Rand, in types.Tensor) (*op.Def, any) {
	rank := in.Rank()
	each := func(f func(n int) int) []int {
		list := make([]int, rank)
		for k, n := range in.Shape {
			list[k] = f(n)
		}
		return list
	}
	switch r.IntN(4) {
	case 0:
		return ops.Tile, ops.TileAttrs{Reps: each(func(int) int { return 1 + r.IntN(4) })}
	case 1:
		a := ops.StridedSliceAttrs{Begin: each(func(n int) int { return r.IntN(n) }), End: each(func(n int) int { return n })}
		a.Strides = each(func(int) int { return []int{1, 2, 3, -1, -2}[r.IntN(5)] })
		for k, s := range a.Strides {
			if s < 0 {
				a.Begin[k], a.End[k] = in.Shape[k]-1, -1
			}
		}
		return ops.StridedSlice, a
	}
	mode := []string{"reflect", "edge", "wrap", "constant"}[r.IntN(4)]
	pad := func(n int) int { return r.IntN(min(n, 4)+1+r.IntN(2)*n) - min(r.IntN(2), (n-1)/2) }
	return ops.Pad, ops.PadAttrs{PadBefore: each(pad), PadAfter: each(pad), Mode: mode, Value: 2}
}
