// Package positions chooses where the binary points of a DPU's integers stand: a value is q * 2^-p, q an int8 and p the position. It
// knows no network, so that devices calibrate with it too.
package positions

import (
	"math"

	"lathe/internal/quant/calibrate"
)

// One is x at position p: floor(x 2^p + 1/2), clamped.
func One(x float32, p int) int8 {
	v := math.Floor(math.Ldexp(float64(x), p) + 0.5)
	switch {
	case v != v:
		return 0
	case v <= math.MinInt8:
		return math.MinInt8
	case v >= math.MaxInt8:
		return math.MaxInt8
	}
	return int8(v)
}

// Fixed are values at position p.
func Fixed(v []float32, p int) []int8 {
	q := make([]int8, len(v))
	for i, x := range v {
		q[i] = One(x, p)
	}
	return q
}

// noOverflow is the greatest position at which values from lo to hi are not clamped.
func noOverflow(lo, hi float64) int {
	size := max(lo/(math.MinInt8-0.5), hi/(math.MaxInt8+0.5))
	if !(size > 0) {
		return 0 // zeros fit anywhere
	}
	return int(max(-64, min(64, math.Floor(-math.Log2(size)))))
}

// Tried is how many positions, from the greatest without clamping on, are candidates.
const Tried = 5

// Of is the position with the least squared error of values.
func Of(v []float32) int {
	lo, hi := 0.0, 0.0
	for _, x := range v {
		lo, hi = min(lo, float64(x)), max(hi, float64(x))
	}
	return best(lo, hi, func(p int) (sum float64) {
		for _, x := range v {
			d := float64(x) - math.Ldexp(float64(One(x, p)), -p)
			sum += d * d
		}
		return sum
	})
}

// best is the candidate of least error, the lesser of equals.
func best(lo, hi float64, squared func(p int) float64) int {
	first := noOverflow(lo, hi)
	at, least := first, math.Inf(1)
	for p := first; p < first+Tried; p++ {
		if e := squared(p); e < least {
			at, least = p, e
		}
	}
	return at
}

// perBin is in how many parts a bin is looked at: quantisation steps may be as narrow as a bin.
const perBin = 4

// OfHistogram is the position of least squared error of what was counted.
func OfHistogram(h *calibrate.Histogram) int {
	return best(min(h.Min, 0), max(h.Max, 0), func(p int) (sum float64) {
		for i, count := range h.Counts {
			if count == 0 {
				continue
			}
			for k := range perBin {
				x := h.Centre(i) + h.Width()*((float64(k)+0.5)/perBin-0.5)
				d := x - math.Ldexp(float64(One(float32(x), p)), -p)
				sum += d * d / perBin * float64(count)
			}
		}
		return sum
	})
}
