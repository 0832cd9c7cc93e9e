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
	tally
	Counts []int64
}

// A tally is a histogram but for the counts of its bins, which channels have in less room than whole values.
type tally struct {
	Limit    float64 // 0 while all numbers are 0
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
	add(&h.tally, h.Counts, numbers)
}

// A channel is a histogram of one channel of a value.
type channel struct {
	tally
	counts []uint32
}

// add counts numbers.
func add[C uint32 | int64](t *tally, counts []C, numbers []float32) {
	counts = counts[:Bins]
	low, high, finite := bounds(numbers)
	t.Unfit += int64(len(numbers) - finite)
	if finite == 0 {
		return
	}
	extend(t, counts, low, high)
	t.Total += int64(finite)
	perUnit := t.perUnit()
	zeros := 0
	for _, x := range numbers {
		if finite < len(numbers) && x-x != 0 {
			continue
		}
		if math.Float32bits(x)<<1 == 0 { // no branch: what is zero behind a relu is hard to predict
			zeros++
		}
		at := bin(float64(x), perUnit)
		counts[at]++
	}
	counts[Bins/2] -= C(zeros) // where the bin of 0 begins
	t.Zeros += int64(zeros)
}

// bin is that of a number less than a limit, of which there are perUnit in 1.
func bin(x, perUnit float64) int { return int(math.Floor(x*perUnit)) + Bins/2 }

func (t *tally) perUnit() float64 {
	if t.Limit == 0 {
		return 0
	}
	return Bins / 2 / t.Limit
}

// bounds are the least and greatest finite number, 0 and 0 where there is none, and how many are finite.
func bounds(numbers []float32) (low, high float64, finite int) {
	least, most, unfit := float32(math.Inf(1)), float32(math.Inf(-1)), 0
	for _, x := range numbers {
		if x-x != 0 {
			unfit++
			continue
		}
		if x < least {
			least = x
		}
		if x > most {
			most = x
		}
	}
	if unfit == len(numbers) {
		return 0, 0, 0
	}
	return float64(least), float64(most), len(numbers) - unfit
}

// extend makes room for numbers from low to high, of which some are.
func extend[C uint32 | int64](t *tally, counts []C, low, high float64) {
	if t.Total > 0 {
		low, high = math.Min(t.Min, low), math.Max(t.Max, high)
	}
	t.Min, t.Max = low, high
	magnitude := math.Max(-low, high)
	if magnitude == 0 {
		return
	}
	_, exponent := math.Frexp(magnitude) // magnitude < 2^exponent
	limit := math.Ldexp(1, exponent)
	if t.Limit == 0 {
		t.Limit = limit
	}
	if t.Limit >= limit {
		return
	}
	widen(counts, counts, limit/t.Limit)
	t.Limit = limit
}

// widen puts counts into bins that are so many times as wide, a power of two; to may be from.
func widen[A, B uint32 | int64](to []A, from []B, times float64) {
	merged := [Bins]A{}
	for i, n := range from {
		if n != 0 {
			merged[int(math.Floor(float64(i-Bins/2)/times))+Bins/2] += A(n)
		}
	}
	copy(to, merged[:])
}

// merge adds what a channel counted, as if its numbers were counted here.
func (h *Histogram) merge(c *channel) {
	if h.Counts == nil {
		h.Counts = make([]int64, Bins)
	}
	h.Unfit += c.Unfit
	if c.Total == 0 {
		return
	}
	extend(&h.tally, h.Counts, c.Min, c.Max)
	h.Total, h.Zeros = h.Total+c.Total, h.Zeros+c.Zeros
	if c.Limit == 0 {
		return
	}
	var wide [Bins]int64
	widen(wide[:], c.counts, h.Limit/c.Limit)
	for i, n := range wide {
		h.Counts[i] += n
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
