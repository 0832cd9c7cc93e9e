package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"time"

	"lathe/bench/process"
	"lathe/internal/bundle"
	"lathe/internal/toolchain"
	"lathe/runtime"
)

// Limits that the worker pool should keep; values beyond them are marked.
const (
	limitWake    = 5.0 // us to start and join workers that run back to back
	limitResting = 1.0 // percent of a CPU from a millisecond after a run on
	limitCrowded = 1.5 // times as long as with no more workers than cores are free
)

// emptyIR is a model that does nothing: a run of it is what workers cost.
const emptyIR = "define i32 @lathe_empty_run(ptr %ctx, i32 %worker, i32 %workers, i32 %first, i32 %last) {\n  ret i32 0\n}\n"

// emptyPackage writes the model that does nothing.
func emptyPackage(path string) error {
	m, err := toolchain.Open(toolchain.Options{})
	if err != nil {
		return err
	}
	object, err := m.Compile(emptyIR, "")
	if err != nil {
		return err
	}
	library, err := toolchain.Link([]toolchain.Object{object}, toolchain.LinkOptions{Exports: []string{"lathe_empty_run"}})
	if err != nil {
		return err
	}
	return bundle.Write(path, &bundle.Contents{
		Manifest: &bundle.Manifest{
			Format: bundle.FormatVersion, ABI: bundle.ABIVersion, Lathe: "bench", Module: "empty",
			Target: bundle.Target{String: "llvm", Triple: toolchain.HostTriple()}, Source: bundle.Source{File: "empty", SHA256: strings.Repeat("0", 64)},
			Steps: []bundle.Step{{Name: "nothing"}},
		},
		Graph: &bundle.GraphJSON{NodeRowPtr: []int{0}}, Library: library,
	})
}

// measureWorkers prints what starting, joining and resting workers cost, and what happens to a network when more workers
// are asked for than cores are free.
func measureWorkers(work, pack, model string) error {
	empty := filepath.Join(work, "empty.tar")
	if err := emptyPackage(empty); err != nil {
		return err
	}
	defer os.Remove(empty)
	cores := goruntime.NumCPU()
	if cores < 2 {
		fmt.Println("workers: there is one core only")
		return nil
	}
	if err := printWake(empty); err != nil {
		return err
	}
	return printCrowded(pack, model, cores)
}

func printWake(empty string) error {
	one, err := runtime.Open(empty, runtime.WithWorkers(1))
	if err != nil {
		return err
	}
	defer one.Close()
	two, err := runtime.Open(empty, runtime.WithWorkers(2))
	if err != nil {
		return err
	}
	defer two.Close()
	pauses := []time.Duration{0, 20 * time.Microsecond, 200 * time.Microsecond, 5 * time.Millisecond}
	var texts []string
	for _, pause := range pauses {
		a, err := runTime(one, pause)
		if err != nil {
			return err
		}
		b, err := runTime(two, pause)
		if err != nil {
			return err
		}
		us := float64((b - a).Nanoseconds()) / 1e3
		texts = append(texts, beyond(pause == 0 && us > limitWake, fmt.Sprintf("%.1f us after a pause of %v", us, pause)))
	}
	fmt.Printf("workers: starting and joining a second one takes %s\n", strings.Join(texts, ", "))
	if err := two.Run(); err != nil {
		return err
	}
	busyWait(time.Millisecond)
	before, start := process.CPUTime(), time.Now()
	time.Sleep(300 * time.Millisecond)
	rest := 100 * float64(process.CPUTime()-before) / float64(time.Since(start))
	fmt.Printf("workers: from 1 ms after a run on they use %s of a CPU\n", beyond(rest > limitResting, fmt.Sprintf("%.2f %%", rest)))
	return nil
}

// runTime is the median time of runs with a pause before each, in which the caller is awake, as one that prepares inputs.
func runTime(m *runtime.Module, pause time.Duration) (time.Duration, error) {
	runs := 2000
	if pause > 0 {
		runs = max(20, int(200*time.Millisecond/pause/10))
	}
	var times []time.Duration
	for range runs {
		busyWait(pause)
		start := time.Now()
		if err := m.Run(); err != nil {
			return 0, err
		}
		times = append(times, time.Since(start))
	}
	return median(times), nil
}

func busyWait(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// printCrowded compares workers that have a core each with more of them than cores are free.
func printCrowded(pack, model string, cores int) error {
	time1 := func(workers int) (float64, error) {
		m, _, err := openOurs(pack, model, workers, 1)
		if err != nil {
			return 0, err
		}
		defer m.close()
		b, err := m.block(9, 0)
		if err != nil {
			return 0, err
		}
		return milliseconds(median(b.wall)), nil
	}
	alone, err := time1(cores)
	if err != nil {
		return err
	}
	many, err := time1(2 * cores)
	if err != nil {
		return err
	}
	stop := occupyCore()
	fewer, err1 := time1(cores - 1)
	crowded, err2 := time1(cores)
	stop()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	fmt.Printf("%s: %d workers %.2f ms; %d of them %.2f ms, %s; while one core is busy %d workers %.2f ms and %d %.2f ms, %s\n",
		modelName(model), cores, alone, 2*cores, many, times(many/alone), cores-1, fewer, cores, crowded, times(crowded/fewer))
	return nil
}

func times(ratio float64) string {
	return beyond(ratio > limitCrowded, fmt.Sprintf("%.2f times as long", ratio))
}

// occupyCore keeps one core busy until the result is called.
func occupyCore() (stop func()) {
	var ended atomic.Bool
	done := make(chan struct{})
	go func() {
		goruntime.LockOSThread()
		for !ended.Load() {
		}
		close(done)
	}()
	return func() { ended.Store(true); <-done }
}

// beyond shows that a value is beyond its limit.
func beyond(bad bool, text string) string {
	if bad {
		return "!" + text
	}
	return text
}
