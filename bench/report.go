package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// report is what a comparison found.
type report struct {
	Lathe       string          `json:"lathe"`
	ORT         string          `json:"onnxruntime"`
	Target      string          `json:"target"`
	Peaks       map[int]float64 `json:"peak_gflop_per_s"` // by threads
	OthersShare float64         `json:"others_share"`     // of all CPUs, used by other processes meanwhile
	Rows        []row           `json:"rows"`
}

func (r *report) head() {
	fmt.Printf("%s; ONNX Runtime %s\n", r.Lathe, r.ORT)
	for _, n := range slices.Sorted(maps.Keys(r.Peaks)) {
		fmt.Printf("float32 multiply-add peak, %d threads: %.0f GFLOP/s\n", n, r.Peaks[n])
	}
	fmt.Printf("%-20s %3s %9s %9s %6s %6s %6s %8s %6s %9s %10s %7s %9s\n", "model", "thr", "Lathe ms", "ORT ms", "ratio", "quiet", "cpu", "GFLOP/s", "peak",
		"compile s", "compile MB", "run MB", "distance")
}

func (r *report) add(w row) {
	r.Rows = append(r.Rows, w)
	if w.Error != "" {
		fmt.Printf("%-20s %3d %s\n", w.Model, w.Threads, w.Error)
		return
	}
	ort, ratio, quiet, cpu, share, distance := "-", "-", "-", "-", "-", "-"
	if w.ORT != nil {
		ort, ratio, quiet = fmt.Sprintf("%.2f", w.ORT.Median), fmt.Sprintf("%.2f", w.Ratio), fmt.Sprintf("%.2f", w.QuietRatio)
	}
	if w.ORT != nil {
		distance = fmt.Sprintf("%.1e", w.Difference)
	}
	if w.CPURatio > 0 {
		cpu = fmt.Sprintf("%.2f", w.CPURatio)
	}
	if w.PeakShare > 0 {
		share = fmt.Sprintf("%.0f %%", 100*w.PeakShare)
	}
	mark := ""
	if !w.agrees() {
		mark = "  OUTPUTS DIFFER"
	}
	fmt.Printf("%-20s %3d %9.2f %9s %6s %6s %6s %8.1f %6s %9.2f %10.0f %7.0f %9s%s\n", w.Model, w.Threads, w.Lathe.Median, ort, ratio, quiet, cpu,
		w.GFLOPS, share, w.Compile.Seconds, w.Compile.PeakMB, w.RunPeakMB, distance, mark)
}

// foot prints the geometric mean of the ratios by number of threads, and how long threads went on after a run.
func (r *report) foot() {
	var longest float64
	for _, n := range slices.Sorted(maps.Keys(r.Peaks)) {
		var ratio, quiet, cpu, count float64
		for _, w := range r.Rows {
			longest = max(longest, w.LongestMs)
			if w.Threads == n && w.Ratio > 0 {
				ratio, quiet, count = ratio+math.Log(w.Ratio), quiet+math.Log(w.QuietRatio), count+1
				if w.CPURatio > 0 {
					cpu += math.Log(w.CPURatio)
				}
			}
		}
		if count == 0 {
			continue
		}
		fmt.Printf("geometric mean of %.0f networks, %d threads: ratio %.2f, quiet %.2f", count, n, math.Exp(ratio/count), math.Exp(quiet/count))
		if n == 1 {
			fmt.Printf(", cpu %.2f", math.Exp(cpu/count))
		}
		fmt.Println()
	}
	fmt.Println("ratio: medians of all runs, ONNX Runtime through Lathe; quiet: lowest medians of a block, as GFLOP/s and peak;")
	fmt.Println("cpu: CPU time, which other processes disturb less")
	fmt.Printf("other processes used %.0f %% of the CPUs meanwhile\n", 100*r.OthersShare)
	fmt.Printf("longest wait for idle threads before a block: %.0f ms\n", longest)
}

// write keeps the results as DIR/TIME.json.
func (r *report) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, time.Now().UTC().Format("20060102-150405")+".json")
	fmt.Println("results:", file)
	return os.WriteFile(file, append(b, '\n'), 0o644)
}

// verdict is an error when a network failed or the two sides disagree.
func (r *report) verdict() error {
	var bad []string
	for _, w := range r.Rows {
		if w.Error != "" || !w.agrees() {
			bad = append(bad, fmt.Sprintf("%s (%d threads)", w.Model, w.Threads))
		}
	}
	if bad == nil {
		return nil
	}
	return fmt.Errorf("failed or with other outputs than ONNX Runtime: %s", strings.Join(bad, ", "))
}
