package positions

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/quant/calibrate"
)

// TestPositions: the position without clamping is the greatest one, and of a histogram the same as of the values, or one of equal
// worth.
func TestPositions(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   int
	}{{-1, 1, 6}, {0, 127.0 / 128, 7}, {0, 127.49, 0}, {0, 127.51, -1}, {-128.4, 0, 0}, {0, 6, 4}, {0, 0, 0}} {
		if got := noOverflow(c.lo, c.hi); got != c.want {
			t.Errorf("[%g, %g]: %d instead of %d", c.lo, c.hi, got, c.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		size, tail := math.Exp(6*r.NormFloat64()), 1+r.IntN(30)
		values := make([]float32, 4000)
		for i := range values {
			x := size * r.NormFloat64()
			if r.IntN(200) == 0 {
				x *= float64(tail)
			}
			values[i] = float32(x)
		}
		h := calibrate.Histogram{}
		h.Add(values)
		errorAt := func(p int) (sum float64) {
			for _, x := range values {
				d := float64(x) - math.Ldexp(float64(One(x, p)), -p)
				sum += d * d
			}
			return sum
		}
		if got, want := OfHistogram(&h), Of(values); errorAt(got) > 1.05*errorAt(want) {
			t.Errorf("position %d has error %g, %d has %g", got, errorAt(got), want, errorAt(want))
		}
	}
}
