package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestStridedWindows pools plain data, and convolves them by channel, over random windows with strides along the contiguous
// axis: they are computed in tiles, for vectors of every width, whatever the extents and the border.
func TestStridedWindows(t *testing.T) {
	t.Parallel()
	samples := uint64(24)
	if testing.Short() {
		samples = 6
	}
	for _, tgt := range targettest.Executed(t) {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 53))
			rank := 1 + r.IntN(3)
			shape := []int{1, 1 + r.IntN(5)}
			attrs := ops.PoolAttrs{CeilMode: r.IntN(3) == 0}
			begin, end := []int{}, []int{}
			for range rank {
				stride, size, dilation := 1+r.IntN(4), 1+r.IntN(4), 1+r.IntN(8)/7
				attrs.Strides, attrs.PoolSize, attrs.Dilation = append(attrs.Strides, stride), append(attrs.PoolSize, size), append(attrs.Dilation, dilation)
				begin, end = append(begin, r.IntN(size)), append(end, r.IntN(size))
				shape = append(shape, (size-1)*dilation+1+r.IntN(70/(rank*rank)*stride))
			}
			attrs.Strides[rank-1] = 2 + r.IntN(3)
			if types.Count(attrs.PoolSize) == 1 {
				attrs.PoolSize[rank-1], shape[rank+1] = 2, shape[rank+1]+8
			}
			attrs.Padding = append(begin, end...)
			in := types.Of([]types.DType{types.F32, types.F32, types.F16, types.U8}[r.IntN(4)], shape...)
			d, a := ops.MaxPool[rank], any(attrs)
			if in.DType != types.U8 && r.IntN(2) == 0 {
				d, a = ops.AvgPool[rank], ops.AvgPoolAttrs{
					PoolSize: attrs.PoolSize, Strides: attrs.Strides, Padding: attrs.Padding, Dilation: attrs.Dilation, CeilMode: attrs.CeilMode, CountIncludePad: r.IntN(2) == 0,
				}
			}
			t.Run(fmt.Sprintf("%d vectors of %d bits/%d: %s of %s %+v", tgt.VectorRegs, tgt.VectorBits, seed, d.Name, in, a), func(t *testing.T) {
				stridedWindows(t, r, d, a, in, compile.Options{Target: tgt, Level: 3, Workers: 2})
			})
		}
	}
}

func stridedWindows(t *testing.T, r *rand.Rand, d *op.Def, attrs any, in types.Tensor, o compile.Options) {
	g := &graph.Graph{Name: "main"}
	n, err := g.Apply(d, attrs, g.Input("x", in))
	if err != nil {
		t.Fatal(err)
	}
	y := n.Out[0]
	y.Name, g.Outputs = "y", []*graph.Value{y}
	x := []*tensor.Tensor{random(r, in)}
	want, err := grapheval.Eval(g, x)
	if err != nil {
		t.Fatal(err)
	}
	width := y.Type.Shape[len(y.Type.Shape)-1]
	res, err := compile.Compile(context.Background(), g, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range res.Contents.Manifest.Steps {
		if width > 1 && s.Rule != "tile" {
			t.Errorf("by rule %s", s.Rule)
		}
	}
	got, err := Execute(res, x, 2)
	if err != nil {
		t.Fatal(err)
	}
	if diff, err := difference(want[0], got[0]); err != nil || !(diff <= tolerance(in.DType)) {
		t.Errorf("differs by %g: %v", diff, err)
	}
}
