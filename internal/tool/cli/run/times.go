package run

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// summary sums up measurements in seconds.
func summary(times []float64) *timesReport {
	sorted := slices.Sorted(slices.Values(times))
	n := len(sorted)
	mean := 0.0
	for _, t := range times {
		mean += t / float64(n)
	}
	variance := 0.0
	for _, t := range times {
		variance += (t - mean) * (t - mean) / float64(n)
	}
	r := &timesReport{1e3 * mean, 1e3 * (sorted[(n-1)/2] + sorted[n/2]) / 2, 1e3 * sorted[n-1], 1e3 * sorted[0], 1e3 * math.Sqrt(variance), nil}
	for _, t := range times {
		r.All = append(r.All, 1e3*t)
	}
	return r
}

// TimeTable is tvmc's summary of measurements in seconds, to the byte.
func TimeTable(times []float64) string {
	heads := []string{"mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)"}
	var cells []string
	s := summary(times)
	for _, v := range []float64{s.Mean, s.Median, s.Max, s.Min, s.Std} {
		cells = append(cells, centre(fmt.Sprintf("%.4f", v), 12))
	}
	for i, h := range heads {
		heads[i] = centre(h, 12)
	}
	return "Execution time summary:\n" + strings.Join(heads, " ") + "\n" + strings.Join(cells, " ") + strings.Repeat(" ", 15)
}

// centre pads as Python's "^" does: the odd blank goes right.
func centre(s string, width int) string {
	pad := max(0, width-len(s))
	return strings.Repeat(" ", pad/2) + s + strings.Repeat(" ", pad-pad/2)
}
