package llvm_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/codegen/llvm"
	"lathe/internal/loop"
	"lathe/internal/target"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
)

// TestLongs converts float32 to int64 in vectors, some of which hold numbers beyond int32, with instructions for it and without.
func TestLongs(t *testing.T) {
	here := native(t)
	f := parse(t, "func kernel(x: float32[4096], y: int64[4096]) {\n  for o in 0..1024 {\n    vector l in 0..4 {\n      y[((o * 4) + l)] = int64(x[((o * 4) + l)])\n    }\n  }\n}\n")
	r := rand.New(rand.NewPCG(3, 64))
	x := tensor.New(f.Params[0].DType, 4096)
	for i := range x.Len() {
		v := math.Ldexp(r.NormFloat64(), r.IntN(28))
		if i/4%2 > 0 && r.IntN(3) == 0 {
			v = slices.Concat(rareNumbers, []float64{math.Ldexp(r.NormFloat64(), 30+r.IntN(40)), float64(math.Nextafter32(1<<31, 0)), -0x1p63, 0x1p63})[r.IntN(len(rareNumbers)+4)]
		}
		x.SetFloat(i, v)
	}
	for _, tgt := range []*target.Target{here, targettest.Runnable(t, "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell")} {
		code := loadFor(t, here, []*loop.Func{f}, llvm.Options{VectorBits: 256, Target: tgt})
		code.asInterpreted(t, 0, f, []*tensor.Tensor{x, tensor.New(f.Params[1].DType, 4096)})
	}
}
