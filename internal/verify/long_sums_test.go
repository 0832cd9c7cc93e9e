package verify

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// TestPartsOfStrips sums so many products that no cache of the target holds a panel of weights: parts of the sum are those of all tiles of a strip.
// Rows, columns, and the products of a part have rests; windows of convolutions reach beyond the image; each of several products has weights of
// its own.
func TestPartsOfStrips(t *testing.T) {
	t.Parallel()
	samples := uint64(16)
	if testing.Short() {
		samples = 6
	}
	for _, tgt := range crowded {
		strips := 0
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 61))
			g := &graph.Graph{Name: "main"}
			constant := func(shape ...int) *graph.Value { return graph.NewConst("w", random(r, types.Of(types.F32, shape...))) }
			var y *graph.Value
			switch seed % 3 {
			case 0:
				rows, depth, columns := 2+r.IntN(70), 200+r.IntN(700), 1+r.IntN(120)
				y = apply(t, g, ops.Matmul, ops.MatmulAttrs{}, g.Input("x", types.Of(types.F32, rows, depth)), constant(depth, columns)).Out[0]
			case 1:
				in, out, side, d := 30+r.IntN(50), 1+r.IntN(60), 5+r.IntN(10), 1+r.IntN(4)
				a := ops.ConvAttrs{Strides: []int{1 + r.IntN(2), 1}, Dilation: []int{d, d}, Padding: []int{d, d, d, d}, Groups: 1}
				x := g.Input("x", types.Of(types.F32, 1+r.IntN(2), in, side, side+r.IntN(3)))
				y = apply(t, g, ops.Conv2d, a, x, constant(out, in, 3, 3)).Out[0]
			case 2:
				many, rows, depth, columns := 2+r.IntN(3), 2+r.IntN(40), 200+r.IntN(300), 1+r.IntN(70)
				x, w := g.Input("x", types.Of(types.F32, many, rows, depth)), g.Input("w", types.Of(types.F32, many, depth, columns))
				y = apply(t, g, ops.Matmul, ops.MatmulAttrs{}, x, w).Out[0]
			}
			y = apply(t, g, ops.Relu, op.None{}, y).Out[0]
			for _, s := range stepsWithin(t, tolerance(types.F32), r, g, y, tgt) {
				if s.Point["parts_of"] == "strips" {
					strips++
				}
			}
		}
		if strips < 2 {
			t.Errorf("%s: %d sums have parts of strips", tgt, strips)
		}
	}
}
