package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"lathe/runtime"
)

// life is what program once reports, see there.
type life struct {
	OpenMs      float64 `json:"open_ms"`
	FirstMs     float64 `json:"first_ms"`
	LaterMs     float64 `json:"later_ms"`
	IdleMs      float64 `json:"idle_ms"`
	IdleOverMs  float64 `json:"idle_over"`
	WeightsMB   float64 `json:"weights_mb"`
	WorkspaceMB float64 `json:"workspace_mb"`
	TensorsMB   float64 `json:"tensors_mb"`
	BareMB      float64 `json:"bare_mb"`
	PeakMB      float64 `json:"peak_mb"`
}

// overhead is what opening and the first run take beyond a later run, in ms.
func (l life) overhead() float64 { return l.OpenMs + l.FirstMs - l.LaterMs }

// runOnce lets program once, which stands beside this one, run a package and rest for the time idle.
func runOnce(pack, model string, threads, batch int, idle time.Duration) (life, error) {
	var l life
	self, err := os.Executable()
	if err != nil {
		return l, err
	}
	file := pack + ".npz"
	if err := writeInputs(file, pack, model, batch); err != nil {
		return l, err
	}
	defer os.Remove(file)
	err = runChild(context.Background(), &l, filepath.Join(filepath.Dir(self), "once"), pack, fmt.Sprint(threads), idle.String(), file)
	return l, err
}

// writeInputs writes the inputs of a package for a child.
func writeInputs(file, pack, model string, batch int) error {
	m, err := runtime.Open(pack)
	if err != nil {
		return err
	}
	defer m.Close()
	inputs, err := inputsOf(model, batch, m.Inputs())
	if err != nil {
		return err
	}
	return saveInputs(file, inputs)
}

// Limits that a compiler for this job should keep; rows beyond them are marked.
const (
	limitCompile  = 5.0    // seconds
	limitMemory   = 1500.0 // MB while compiling
	limitOverhead = 30.0   // ms that opening and the first run take beyond a later run
	limitExtra    = 50.0   // MB of a run beyond weights, work space, inputs and outputs
	limitIdle     = 1.0    // percent of a CPU after a run
)

// measureAll prints what compiling, opening, running and idling cost: the process whose overhead is the median.
func measureAll(s *settings, work string) error {
	fmt.Printf("%-20s %3s %9s %10s %8s %9s %9s %9s %9s %8s %10s %7s %7s\n", "model", "thr", "compile s", "compile MB", "open ms", "first ms",
		"later ms", "over ms", "weights", "work MB", "tensors MB", "run MB", "idle %")
	for i, model := range s.models {
		pack := filepath.Join(work, modelName(model)+".tar")
		cost, err := compilePackage(context.Background(), s, model, pack)
		if err != nil {
			return fmt.Errorf("%s: compile: %w", modelName(model), err)
		}
		for _, n := range s.threads {
			var lives []life
			for range s.repeat {
				l, err := runOnce(pack, model, n, 1, 300*time.Millisecond)
				if err != nil {
					return fmt.Errorf("%s: %w", modelName(model), err)
				}
				lives = append(lives, l)
			}
			slices.SortFunc(lives, func(a, b life) int { return cmp.Compare(a.overhead(), b.overhead()) })
			printLife(modelName(model), n, cost, lives[len(lives)/2])
		}
		if i < len(s.models)-1 {
			os.Remove(pack)
		}
	}
	fmt.Printf("! beyond: compile %.0f s and %.0f MB, over %.0f ms, run = weights + work + tensors + %.0f MB, idle %.0f %%\n",
		limitCompile, limitMemory, limitOverhead, limitExtra, limitIdle)
	last := s.models[len(s.models)-1]
	return measureWorkers(work, filepath.Join(work, modelName(last)+".tar"), last)
}

func printLife(name string, threads int, cost compileCost, l life) {
	over := l.overhead()
	idle := 100 * l.IdleMs / l.IdleOverMs
	fmt.Printf("%-20s %3d %9s %10s %8.2f %9.2f %9.2f %9s %9.1f %8.1f %10.1f %7s %7s\n", name, threads,
		beyond(cost.Seconds > limitCompile, fmt.Sprintf("%.2f", cost.Seconds)),
		beyond(cost.PeakMB > limitMemory, fmt.Sprintf("%.0f", cost.PeakMB)),
		l.OpenMs, l.FirstMs, l.LaterMs,
		beyond(over > limitOverhead, fmt.Sprintf("%.2f", over)),
		l.WeightsMB, l.WorkspaceMB, l.TensorsMB,
		beyond(l.PeakMB > l.WeightsMB+l.WorkspaceMB+l.TensorsMB+limitExtra, fmt.Sprintf("%.1f", l.PeakMB)),
		beyond(idle > limitIdle, fmt.Sprintf("%.2f", idle)))
}
