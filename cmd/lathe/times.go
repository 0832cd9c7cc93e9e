package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"lathe/runtime"
)

// timeTable is tvmc's summary of measurements in seconds, to the byte.
func timeTable(times []float64) string {
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
	heads := []string{"mean (ms)", "median (ms)", "max (ms)", "min (ms)", "std (ms)"}
	var cells []string
	for _, v := range []float64{mean, (sorted[(n-1)/2] + sorted[n/2]) / 2, sorted[n-1], sorted[0], math.Sqrt(variance)} {
		cells = append(cells, centre(fmt.Sprintf("%.4f", v*1000), 12))
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

// printProfile prints the cost of each kernel, and their sum.
func printProfile(w io.Writer, steps []runtime.StepTime, workers int) error {
	var total, flops, bytes float64
	for _, s := range steps {
		total += s.Median.Seconds()
		flops += float64(s.FLOPs)
		bytes += float64(s.Bytes)
	}
	fmt.Fprintf(w, "Profile (%d threads, median of the runs, each kernel started by itself):\n", workers)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, seconds, flops, bytes float64, rest string) {
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t\t%s\n", name, seconds*1e6, ratio(100*seconds, total),
			ratio(flops/1e9, seconds), ratio(bytes/1e9, seconds), bytes, rest)
	}
	fmt.Fprintln(t, "#\tTime (us)\tShare (%)\tGFLOP/s\tGB/s\tBytes\t\t  Kernel")
	for _, s := range steps {
		row(fmt.Sprint(s.Index), s.Median.Seconds(), float64(s.FLOPs), float64(s.Bytes), "  "+kernelText(s))
	}
	row("sum", total, flops, bytes, "")
	return t.Flush()
}

func kernelText(s runtime.StepTime) string {
	text := s.Name
	if len(s.Nodes) > 0 {
		text += " (" + strings.Join(s.Nodes, " ") + ")"
	}
	return text
}

// ratio is 0 where the divisor is too small to have been measured.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}
