package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestGridSample samples images of few and of many channels, which lie in blocks then, whole and not.
func TestGridSample(t *testing.T) {
	t.Parallel()
	samples := uint64(24)
	if testing.Short() {
		samples = 6
	}
	for _, tgt := range targettest.Executed(t) {
		o := compile.Options{Target: tgt, Level: 3, Workers: 2}
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 109))
			rank := 2 + r.IntN(2)
			attrs := ops.GridSampleAttrs{Method: []string{"nearest", "linear"}[r.IntN(2)], PaddingMode: []string{"zeros", "border", "reflection"}[r.IntN(3)], AlignCorners: r.IntN(2) == 0}
			if rank == 2 && r.IntN(3) == 0 {
				attrs.Method = "cubic"
			}
			data, grid := []int{1 + r.IntN(2), 1 + r.IntN(40)}, []int{0}
			grid[0] = data[0]
			for range rank {
				data, grid = append(data, 1+r.IntN(7)), append(grid, 1+r.IntN(12))
			}
			dt := []types.DType{types.F32, types.F32, types.F16}[r.IntN(3)]
			in := []types.Tensor{types.Of(dt, data...), types.Of(dt, append(grid, rank)...)}
			t.Run(fmt.Sprintf("%d vectors of %d bits/%d: %s at %s %+v", tgt.VectorRegs, tgt.VectorBits, seed, in[0], in[1], attrs), func(t *testing.T) {
				testOperator(t, r, ops.GridSample, attrs, in, o, seed, Execute)
			})
		}
	}
}
