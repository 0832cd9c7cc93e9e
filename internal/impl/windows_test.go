package impl

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/target"
)

// TestWindowRows: the price of folding windows along short rows is that of their vectors, whole or not.
func TestWindowRows(t *testing.T) {
	machine := &target.Target{Arch: target.X86, VectorBits: 512, VectorRegs: 32, L1: 32 << 10, L2: 1 << 20, Core: target.ClassOf(target.X86, 512)}
	r := rand.New(rand.NewPCG(1, 19))
	for range 50 {
		row, rows, taps := 1+r.IntN(70), 100+r.IntN(900), 2+r.IntN(4)
		fold := func(row int) WindowFold {
			return WindowFold{Taps: []int{taps, taps}, Left: []int{2 * rows * row, rows * row}, Rows: []int{row, row}, Bytes: 4, Strides: []int{1, 2}}
		}
		whole := func(f WindowFold) float64 { return WindowsDecision(machine, f).Values[0].Cost }
		vectors := (row + 15) / 16
		if got, want := whole(fold(row)), whole(fold(16*vectors)); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%d rows of %d elements cost %g, of %d %g", rows, row, got, 16*vectors, want)
		}
		f := fold(row)
		f.Rows = []int{0, 0}
		if got, want := whole(f), whole(fold(row))*float64(row)/float64(16*vectors); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%d elements in blocks cost %g instead of %g", rows*row, got, want)
		}
	}
}
