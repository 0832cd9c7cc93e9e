package tune

import (
	"math"
	"slices"
)

// An Estimate is of a ratio of times, with bounds.
type Estimate struct {
	Ratio, Low, High float64
	Pairs            int
}

// Gain is the ratio as a speed: 1.25 where the time is 0.8 of the host's.
func (e Estimate) Gain() float64 { return 1 / e.Ratio }

// Ratios are the quotients of neighbouring passes, candidate by host. What is no positive number is left out: a clock that stood
// still says nothing.
func Ratios(times, host []float64) []float64 {
	list := make([]float64, 0, len(times))
	for i := range min(len(times), len(host)) {
		if r := times[i] / host[i]; r > 0 && !math.IsInf(r, 0) {
			list = append(list, r)
		}
	}
	return list
}

// Estimated is the median of samples with two-sided bounds by order statistics: whatever the distribution, the k-th smallest and
// largest of n contain the median unless fewer than k samples lie on one side of it, which happens with the probability of so
// few heads in n throws of a coin (David and Nagaraja, Order Statistics, 7.1). Too few samples for the confidence have their extremes
// as bounds, which hold with probability 1 - 2^(1-n) only. No samples have no bounds: 0 and infinity.
func Estimated(samples []float64, confidence float64) Estimate {
	if len(samples) == 0 {
		return Estimate{1, 0, math.Inf(1), 0}
	}
	s := slices.Sorted(slices.Values(samples))
	n := len(s)
	k := max(rank(n, (1-confidence)/2), 1)
	return Estimate{(s[(n-1)/2] + s[n/2]) / 2, s[k-1], s[n-k], n}
}

// rank is the greatest k such that fewer than k heads in n throws have at most probability tail; 0 where there is none.
func rank(n int, tail float64) int {
	sum, k := 0.0, 0
	for ; k < n/2; k++ {
		if sum += heads(n, k); sum > tail {
			break
		}
	}
	return k
}

// heads is the probability of k heads in n throws.
func heads(n, k int) float64 {
	all, _ := math.Lgamma(float64(n) + 1)
	some, _ := math.Lgamma(float64(k) + 1)
	rest, _ := math.Lgamma(float64(n-k) + 1)
	return math.Exp(all - some - rest - float64(n)*math.Ln2)
}
