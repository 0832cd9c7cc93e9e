package llvm_test

import (
	"fmt"
	"strings"
	"testing"

	"lathe/internal/codegen/llvm"
	"lathe/internal/target"
)

// TestReloads: what steps emitted once per iteration read again stays loaded where it fits the registers beside the accumulators, and
// is loaded again where it does not: a fence for each further step.
func TestReloads(t *testing.T) {
	for _, c := range []struct{ bits, regs, rows, taps, step, fences int }{
		{512, 32, 28, 3, 1, 2},
		{512, 32, 10, 3, 1, 0},
		{256, 16, 13, 5, 1, 4},
		{256, 16, 6, 5, 1, 0},
		{512, 32, 28, 3, 28, 0}, // steps share nothing
		{256, 16, 6, 3, 1, 0},
	} {
		text := fmt.Sprintf(`func f(x: float32[%[1]d,%[2]d], w: float32[%[3]d,%[2]d], y: float32[%[4]d,%[2]d]) {
			alloc acc: float32[%[4]d,%[2]d] reg {
				unroll z in 0..%[4]d { vector v in 0..%[2]d { acc[z, v] = 0.0 } }
				for k in 0..9 {
					unroll r in 0..%[3]d { unroll j in 0..%[4]d { vector v in 0..%[2]d { acc[j, v] = (acc[j, v] + (x[((r * %[5]d) + j), v] * w[r, v])) } } } }
				unroll j in 0..%[4]d { vector v in 0..%[2]d { y[j, v] = acc[j, v] } } } }`,
			c.taps*c.step+c.rows, c.bits/32, c.taps, c.rows, c.step)
		k, err := llvm.Emit(parse(t, text), llvm.Options{Symbol: "f", Target: &target.Target{VectorBits: c.bits, VectorRegs: c.regs, Core: target.ClassOf(target.X86, c.bits)}})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if n := strings.Count(k.Text, "fence syncscope"); n != c.fences {
			t.Errorf("%+v: %d fences\n%s", c, n, k.Text)
		}
	}
}

// TestWidenedStays: digits that rows share are widened once for all of them, however few registers there are.
func TestWidenedStays(t *testing.T) {
	text := `func f(x: float32[6,32], w: uint4[4,16,8] align 64, z: uint8[16], y: float32[6,16]) {
		alloc acc: float32[6,16] reg {
			unroll i in 0..6 { unroll o in 0..2 { vector v in 0..8 { acc[i, ((o * 8) + v)] = 0.0 } } }
			for k in 0..4 { unroll d in 0..8 { unroll i in 0..6 { unroll o in 0..2 { vector v in 0..8 {
				acc[i, ((o * 8) + v)] = (acc[i, ((o * 8) + v)] + (x[i, ((k * 8) + d)] * float32((int32(w[k, ((o * 8) + v), d]) - int32(z[((o * 8) + v)])))))
			} } } } }
			unroll i in 0..6 { unroll o in 0..2 { vector v in 0..8 { y[i, ((o * 8) + v)] = acc[i, ((o * 8) + v)] } } } } }`
	k, err := llvm.Emit(parse(t, text), llvm.Options{Symbol: "f", Target: &target.Target{VectorBits: 256, VectorRegs: 16, Core: target.ClassOf(target.X86, 256)}})
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(k.Text, "sitofp"); n != 16 || strings.Contains(k.Text, "fence syncscope") {
		t.Errorf("%d conversions of 16 vectors of digits\n%s", n, k.Text)
	}
}
