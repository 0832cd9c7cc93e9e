package tune

import "slices"

// quietest is the share of samples that are taken for undisturbed.
const quietest = 4

// Quiet is the ratio of the times of a candidate to those of the host, by the least quarter of each: whatever else a machine does adds to times
// and never takes from them, so that the least are the least disturbed (Chen and Revels, Robust benchmarking in noisy environments, 2016).
// On a machine where others work it needs a quarter of the samples that a median of ratios needs. The bounds are ratios of what lies at the ends
// of those quarters: they order candidates, and have no confidence.
func Quiet(times, host []float64) Estimate {
	n := min(len(times), len(host))
	if n == 0 {
		return Estimated(nil, 0)
	}
	t, h := slices.Sorted(slices.Values(times[:n])), slices.Sorted(slices.Values(host[:n]))
	if !(h[0] > 0) {
		return Estimated(Ratios(times, host), searchBounds) // a clock that stood still
	}
	last := min(undisturbed(n), n-1)
	return Estimate{least(t) / least(h), t[0] / h[last], t[last] / h[0], n}
}

// Quietest is the mean of the least quarter of times; NaN of none.
func Quietest(times []float64) float64 { return least(slices.Sorted(slices.Values(times))) }

// least is Quietest of sorted times.
func least(sorted []float64) float64 {
	k := undisturbed(len(sorted))
	var sum float64
	for _, v := range sorted[:k] {
		sum += v
	}
	return sum / float64(k)
}

// undisturbed is how many of n samples are taken for undisturbed.
func undisturbed(n int) int { return (n + quietest - 1) / quietest }
