package extern

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/target"
)

// TestFound compares the number of elements that are better than the best so far of any of some rows with that of random rows.
func TestFound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 71))
	for range 20 {
		n, rows := 2+r.IntN(2000), 1+r.IntN(16)
		k := 1 + r.IntN(n)
		const samples = 40
		sum := 0
		for range samples {
			better := make([]bool, n)
			for range rows {
				best := make([]float64, 0, k+1) // the least last
				for j := range n {
					x := r.Float64()
					if len(best) == k && x <= best[k-1] {
						continue
					}
					better[j] = better[j] || j >= k
					at := len(best)
					for at > 0 && best[at-1] < x {
						at--
					}
					best = append(best, 0)
					copy(best[at+1:], best[at:])
					best[at] = x
					best = best[:min(len(best), k)]
				}
			}
			for _, b := range better {
				if b {
					sum++
				}
			}
		}
		got, want := found(n, k, rows), float64(sum)/samples
		if math.Abs(got-want) > 0.1*want+1 {
			t.Errorf("the best %d of %d elements of %d rows: %.1f are found, by samples %.1f", k, n, rows, got, want)
		}
	}
}

// TestInOrder: rows that fill no vector cost as much to keep in order side by side as those that do.
func TestInOrder(t *testing.T) {
	machine := &target.Target{VectorBits: 512, VectorRegs: 32, Core: target.ClassOf(target.X86, 512)}
	r := rand.New(rand.NewPCG(2, 71))
	for range 20 {
		n := 20 + r.IntN(200)
		k := 1 + r.IntN(n)
		each := func(lanes int) float64 {
			moves := selecting(machine, n, k, lanes, lanes, true) - selectCycles*float64(n)
			return moves / (float64(k) * (float64(k) + found(n, k, lanes)))
		}
		if few, half := each(2), each(8); math.Abs(few-half) > 1e-9*half {
			t.Errorf("the best %d of %d: a place of 2 rows takes %g cycles, of 8 %g", k, n, few, half)
		}
	}
}
