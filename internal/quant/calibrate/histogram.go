// Package calibrate learns from samples which numbers the values of a network take: histograms and statistics per channel of any
// set of values of a graph, and rules that choose a range to quantise from them. It knows neither how values are quantised nor
// how graphs are run.
package calibrate

import "math"

// Bins is the number of bins of a histogram, over negative and positive numbers together.
const Bins = 2048

// A Histogram counts numbers in Bins equal bins over [-Limit, Limit). Limit is a power of two that doubles when a number lies
// beyond it: two bins merge into one, so that what is counted depends on the numbers and not on their order.
type Histogram struct {
	Limit    float64 // 0 while all numbers are 0
	Counts   []int64
	Zeros    int64   // numbers that are exactly 0, which are in no bin
	Min, Max float64 // exact
	Total    int64   // of numbers, Zeros included
	Unfit    int64   // infinities and NaN, which are counted nowhere else
}

// Add counts numbers.
func (h *Histogram) Add(numbers []float32) {
	if h.Counts == nil {
		h.Counts = make([]int64, Bins)
	}
	low, high := h.bounds(numbers)
	h.reach(math.Max(-low, high))
	if h.Total == 0 {
		h.Min, h.Max = low, high
	} else {
		h.Min, h.Max = math.Min(h.Min, low), math.Max(h.Max, high)
	}
	perUnit := 0.0
	if h.Limit > 0 {
		perUnit = Bins / 2 / h.Limit
	}
	for _, x := range numbers {
		switch f := float64(x); {
		case x == 0:
			h.Zeros++
		case f-f != 0:
			h.Unfit++
			continue
		default:
			h.Counts[int(math.Floor(f*perUnit))+Bins/2]++
		}
		h.Total++
	}
}

// bounds are the least and greatest finite number; 0 and 0 where there is none.
func (h *Histogram) bounds(numbers []float32) (low, high float64) {
	first := true
	for _, x := range numbers {
		f := float64(x)
		if f-f != 0 {
			continue
		}
		if first {
			low, high, first = f, f, false
			continue
		}
		if f < low {
			low = f
		}
		if f > high {
			high = f
		}
	}
	return low, high
}

// reach doubles the range until it holds a magnitude.
func (h *Histogram) reach(magnitude float64) {
	if magnitude == 0 {
		return
	}
	_, exponent := math.Frexp(magnitude) // magnitude < 2^exponent
	limit := math.Ldexp(1, exponent)
	if h.Limit == 0 {
		h.Limit = limit
	}
	for h.Limit < limit {
		merged := make([]int64, Bins)
		for i, n := range h.Counts {
			merged[(i+Bins/2)/2] += n
		}
		h.Counts, h.Limit = merged, 2*h.Limit
	}
}

// Width is that of a bin.
func (h *Histogram) Width() float64 { return 2 * h.Limit / Bins }

// Centre is the middle of a bin.
func (h *Histogram) Centre(i int) float64 { return (float64(i-Bins/2) + 0.5) * h.Width() }

// Clipped is the share of numbers that lie in bins outside of a range.
func (h *Histogram) Clipped(r Range) float64 {
	if h.Total == 0 {
		return 0
	}
	out := int64(0)
	for i, n := range h.Counts {
		if c := h.Centre(i); c < r.Min-h.Width()/2 || c > r.Max+h.Width()/2 {
			out += n
		}
	}
	return float64(out) / float64(h.Total)
}
