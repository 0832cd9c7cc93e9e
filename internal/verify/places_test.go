package verify

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestPlaces looks elements of rows up at places that are the same for all of them: computed from lanes, or read from memory.
func TestPlaces(t *testing.T) {
	t.Parallel()
	samples := uint64(30)
	if testing.Short() {
		samples = 8
	}
	for _, tgt := range targettest.Executed(t) {
		o := compile.Options{Target: tgt, Level: 3, Workers: 2}
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 113))
			d, attrs, in := randomLookUp(r)
			t.Run(fmt.Sprintf("%d vectors of %d bits/%d: %s of %v %+v", tgt.VectorRegs, tgt.VectorBits, seed, d.Name, in, attrs), func(t *testing.T) {
				testOperator(t, r, d, attrs, in, o, seed, Execute)
			})
		}
	}
}

func randomLookUp(r *rand.Rand) (*op.Def, any, []types.Tensor) {
	dt := []types.DType{types.F32, types.F32, types.F16, types.F64}[r.IntN(4)]
	data := types.Of(dt, 1+r.IntN(3), 1+r.IntN(13), 1+r.IntN(50))
	switch r.IntN(4) {
	case 3:
		return ops.SpaceToDepth, ops.DepthSpaceAttrs{BlockSize: 2, Mode: "DCR"}, []types.Tensor{types.Of(types.F32, 1, 1+r.IntN(4), 2*(200+r.IntN(60)), 2*(170+r.IntN(60)))}
	case 0:
		return ops.Take, ops.TakeAttrs{Axis: 2}, []types.Tensor{data, types.Of(types.I64, 1+r.IntN(40))}
	case 1:
		block := 2 + r.IntN(2)
		a := ops.DepthSpaceAttrs{BlockSize: block, Mode: []string{"DCR", "CRD"}[r.IntN(2)]}
		return ops.DepthToSpace, a, []types.Tensor{types.Of(dt, 1, block*block*(1+r.IntN(3)), 1+r.IntN(9), 1+r.IntN(30))}
	}
	a := ops.ResizeAttrs{
		Method: []string{"nearest", "linear", "cubic"}[r.IntN(3)], CoordinateTransformationMode: []string{"half_pixel", "align_corners", "asymmetric"}[r.IntN(3)],
		NearestMode: "floor", CubicCoeffA: -0.75, Sizes: []int{data.Shape[0], 1 + r.IntN(26), 1 + r.IntN(70)},
	}
	return ops.Resize, a, []types.Tensor{data}
}
