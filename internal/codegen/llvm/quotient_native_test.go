package llvm_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"lathe/internal/codegen/llvm"
	"lathe/internal/loop"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
)

// quantize is a kernel that quantises 16 float32 by a scale.
func quantize(t *testing.T, scale float32, zero int, typ string) *loop.Func {
	return parse(t, fmt.Sprintf(`func kernel(x: float32[%d,16], y: %s[%d,16]) {
  for i in 0..%d {
    vector l in 0..16 {
      y[i, l] = %s((round((x[i, l] / %v)) + %d.0))
    }
  }
}
`, quantized/16, typ, quantized/16, quantized/16, typ, float64(scale), zero))
}

// quantized is how many numbers are quantised by each scale.
const quantized = 4096

// rareNumbers are what rounding must not trip over.
var rareNumbers = []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 0x1p-126, 0x1p-120, 0x1p31, -0x1p31}

// TestQuantize: numbers that are quantised are those of the definition, ties, infinities and what overflows among them, without a
// division where the target has a fused multiply-add.
func TestQuantize(t *testing.T) {
	here := native(t)
	r := rand.New(rand.NewPCG(3, 8))
	var funcs []*loop.Func
	var scales []float64
	for i := range 60 {
		scale := float32(math.Exp(6*r.NormFloat64() - 3))
		typ := []string{"uint8", "int8", "int16", "uint16"}[i%4]
		zero := map[string]int{"uint8": r.IntN(256), "int8": r.IntN(256) - 128, "int16": 0, "uint16": r.IntN(1 << 16)}[typ]
		funcs, scales = append(funcs, quantize(t, scale, zero, typ)), append(scales, float64(scale))
	}
	code := loadFor(t, here, funcs, llvm.Options{VectorBits: 256, Target: here})
	for i, f := range funcs {
		x, y := tensor.New(f.Params[0].DType, f.Params[0].Shape...), tensor.New(f.Params[1].DType, f.Params[1].Shape...)
		for j := range x.Len() {
			near := scales[i] * (float64(r.IntN(1<<17)-1<<16) / 2) / []float64{1, 1, 256}[r.IntN(3)]
			v := math.Float32frombits(math.Float32bits(float32(near)) + uint32(r.IntN(5)) - 2)
			x.SetFloat(j, float64(v))
		}
		for j, v := range rareNumbers {
			x.SetFloat(j, v)
		}
		code.asInterpreted(t, i, f, []*tensor.Tensor{x, y})
	}
}

// TestQuotientsByConstants: a quotient that is rounded to a narrow integer takes a division only where the target has no multiply-add that
// rounds once, or the divisor no reciprocal.
func TestQuotientsByConstants(t *testing.T) {
	for _, c := range []struct {
		target   string
		scale    float32
		division bool
	}{
		{"x86_64-linux-gnu -mcpu=haswell", 0.3, false}, {"x86_64-linux-gnu -mcpu=x86-64", 0.3, true}, {"x86_64-linux-gnu -mcpu=haswell", -0.3, true},
		{"x86_64-linux-gnu -mcpu=haswell", 0x1p-70, true}, {"aarch64-linux-gnu", 0.3, false}, {"wasm32 -mattr=+relaxed-simd", 0.3, true},
	} {
		tgt := targettest.Resolve(t, "llvm -mtriple="+c.target)
		k, err := llvm.Emit(quantize(t, c.scale, 3, "uint8"), llvm.Options{Symbol: "kernel", Target: tgt})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(k.Text, "fdiv") != c.division {
			t.Errorf("%s, by %v: a division: %v, want %v", c.target, c.scale, !c.division, c.division)
		}
	}
}
