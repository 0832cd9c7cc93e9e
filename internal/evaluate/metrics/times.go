package metrics

import (
	"math"
	"slices"
)

// Times sums up measurements in ms. Percentiles are interpolated between neighbours, as numpy does.
type Times struct {
	Runs   int     `json:"runs"`
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	Std    float64 `json:"std"` // of the population
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
}

// Summarise computes the figures; there must be a measurement.
func Summarise(ms []float64) *Times {
	s := slices.Sorted(slices.Values(ms))
	n := float64(len(s))
	t := &Times{Runs: len(s), Min: s[0], Max: s[len(s)-1], Median: quantile(s, 0.5), P90: quantile(s, 0.9), P99: quantile(s, 0.99)}
	for _, v := range s {
		t.Mean += v / n
	}
	for _, v := range s {
		t.Std += (v - t.Mean) * (v - t.Mean) / n
	}
	t.Std = math.Sqrt(t.Std)
	return t
}

func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (at-float64(low))*(sorted[high]-sorted[low])
}
