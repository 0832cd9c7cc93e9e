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

// TestRunning sums and multiplies along any axis of tensors whose rows beside each other are several vectors, a part of one, or one
// element.
func TestRunning(t *testing.T) {
	t.Parallel()
	samples := uint64(40)
	if testing.Short() {
		samples = 10
	}
	for _, tgt := range targettest.Executed(t) {
		o := compile.Options{Target: tgt, Level: 3, Workers: 2}
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 103))
			d := []*op.Def{ops.CumSum, ops.CumProd}[r.IntN(2)]
			dt := []types.DType{types.F32, types.F32, types.F64, types.F16, types.I32, types.I64}[r.IntN(6)]
			in := types.Of(dt, 1+r.IntN(3), 1+r.IntN(12), 1+r.IntN([]int{3, 40, 300}[r.IntN(3)]))
			attrs := ops.CumulativeAttrs{Axis: r.IntN(3), Exclusive: r.IntN(2) == 0, Reverse: r.IntN(2) == 0}
			t.Run(fmt.Sprintf("%d vectors of %d bits/%d: %s of %s %+v", tgt.VectorRegs, tgt.VectorBits, seed, d.Name, in, attrs), func(t *testing.T) {
				testOperator(t, r, d, attrs, []types.Tensor{in}, o, seed, Execute)
			})
		}
	}
}
