package verify

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestPartsOfStrips sums so many products that no cache of the target holds a panel of weights: parts of the sum are those of all tiles of a strip.
// Rows, columns, and the products of a part have rests; windows of convolutions reach beyond the image.
func TestPartsOfStrips(t *testing.T) {
	t.Parallel()
	samples := uint64(16)
	if testing.Short() {
		samples = 6
	}
	for _, tgt := range []string{"llvm -caches=2,4,8", "llvm -mcpu=x86-64-v3 -caches=2,4,8", "llvm -mcpu=x86-64-v2 -caches=2,4,8"} {
		strips := 0
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 61))
			g := &graph.Graph{Name: "main"}
			var x, y *graph.Value
			if seed%2 == 0 {
				rows, depth, columns := 2+r.IntN(70), 200+r.IntN(700), 1+r.IntN(120)
				x = g.Input("x", types.Of(types.F32, rows, depth))
				y = apply(t, g, ops.Matmul, ops.MatmulAttrs{}, x, graph.NewConst("w", random(r, types.Of(types.F32, depth, columns)))).Out[0]
			} else {
				in, out, side, d := 30+r.IntN(50), 1+r.IntN(60), 5+r.IntN(10), 1+r.IntN(4)
				a := ops.ConvAttrs{Strides: []int{1 + r.IntN(2), 1}, Dilation: []int{d, d}, Padding: []int{d, d, d, d}, Groups: 1}
				x = g.Input("x", types.Of(types.F32, 1+r.IntN(2), in, side, side+r.IntN(3)))
				y = apply(t, g, ops.Conv2d, a, x, graph.NewConst("w", random(r, types.Of(types.F32, out, in, 3, 3)))).Out[0]
			}
			y = apply(t, g, ops.Relu, op.None{}, y).Out[0]
			y.Name = "y"
			g.Outputs = []*graph.Value{y}
			in := []*tensor.Tensor{random(r, x.Type)}
			res, want := withReference(t, g, in, compile.Options{Target: targettest.Runnable(t, tgt), Level: 3, Workers: 2})
			for _, s := range res.Contents.Manifest.Steps {
				if s.Point["parts_of"] == "strips" {
					strips++
				}
			}
			if err := outputsWithin(tolerance(types.F32), res, in, want, 1, 2, 3); err != nil {
				t.Errorf("%s, seed %d, %s: %v", tgt, seed, x.Type, err)
			}
		}
		if strips < 2 {
			t.Errorf("%s: %d sums have parts of strips", tgt, strips)
		}
	}
}
