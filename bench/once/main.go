// Command once opens a package, runs it and prints as JSON what that took. It holds the runtime and nothing else, so that
// its memory is what a user's program needs.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"lathe/bench/process"
	"lathe/internal/bundle"
	"lathe/internal/tool/npz"
	"lathe/runtime"
)

// life is what the process saw. Times are in milliseconds, memory in MB.
type life struct {
	OpenMs      float64 `json:"open_ms"`
	FirstMs     float64 `json:"first_ms"`  // the first run
	LaterMs     float64 `json:"later_ms"`  // median of later runs
	IdleMs      float64 `json:"idle_ms"`   // CPU time used
	IdleOverMs  float64 `json:"idle_over"` // in this time after the last run
	WeightsMB   float64 `json:"weights_mb"`
	WorkspaceMB float64 `json:"workspace_mb"` // with the workers' scratch
	TensorsMB   float64 `json:"tensors_mb"`   // inputs and outputs
	BareMB      float64 `json:"bare_mb"`      // resident before opening
	PeakMB      float64 `json:"peak_mb"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "once:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: once PACKAGE WORKERS IDLE INPUTS.npz")
	}
	workers, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	idle, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	l := new(life)
	if l.BareMB, err = peak(); err != nil {
		return err
	}
	arrays, err := npz.ReadFile(args[3])
	if err != nil {
		return err
	}
	inputs := make([]runtime.Tensor, len(arrays))
	for _, a := range arrays {
		i, err := strconv.Atoi(a.Name)
		if err != nil || i < 0 || i >= len(inputs) {
			return fmt.Errorf("%s: array %q is not the number of an input", args[3], a.Name)
		}
		inputs[i] = runtime.Tensor{DType: a.DType, Shape: a.Shape, Data: a.Data}
	}
	if err := l.live(args[0], workers, inputs, idle); err != nil {
		return err
	}
	if l.PeakMB, err = peak(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(l)
}

// live opens, runs and rests.
func (l *life) live(pack string, workers int, inputs []runtime.Tensor, idle time.Duration) error {
	start := time.Now()
	m, err := runtime.Open(pack, runtime.WithWorkers(workers))
	if err != nil {
		return err
	}
	defer m.Close()
	l.OpenMs = since(start)
	for i, t := range inputs {
		if err := m.SetInputIndex(i, t); err != nil {
			return err
		}
	}
	start = time.Now()
	if err := m.Run(); err != nil {
		return err
	}
	l.FirstMs = since(start)
	var later []float64
	for range 7 {
		start = time.Now()
		if err := m.Run(); err != nil {
			return err
		}
		later = append(later, since(start))
	}
	slices.Sort(later)
	l.LaterMs = later[len(later)/2]
	l.rest(idle)
	return l.sizes(m, pack)
}

// rest measures what an idle process uses.
func (l *life) rest(idle time.Duration) {
	time.Sleep(time.Millisecond) // workers look for new work for a moment
	before, start := process.CPUTime(), time.Now()
	time.Sleep(idle)
	l.IdleMs, l.IdleOverMs = float64((process.CPUTime()-before).Microseconds())/1e3, since(start)
}

// sizes tells what the memory is needed for.
func (l *life) sizes(m *runtime.Module, pack string) error {
	const mb = 1e6
	p, err := bundle.Open(pack)
	if err != nil {
		return err
	}
	defer p.Close()
	for _, w := range p.Params {
		l.WeightsMB += float64(len(w.Data)) / mb
	}
	info := m.Info()
	l.WorkspaceMB = float64(info.Workspace+info.Scratch*m.Workers()) / mb
	for _, t := range slices.Concat(info.Inputs, info.Outputs) {
		n, err := t.ByteSize()
		if err != nil {
			return err
		}
		l.TensorsMB += float64(n) / mb
	}
	return nil
}

func peak() (float64, error) {
	n, err := process.PeakMemory()
	return float64(n) / 1e6, err
}

func since(start time.Time) float64 { return float64(time.Since(start).Nanoseconds()) / 1e6 }
