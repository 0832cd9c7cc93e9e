package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"lathe/runtime"
)

// timesCommand makes this program time runs of a package, in a process of its own.
const timesCommand = "times"

// runTimes lets a fresh process time runs of a package, in ms.
func runTimes(ctx context.Context, times *[]float64, pack, model string, workers, runs int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return runChild(ctx, times, self, timesCommand, pack, model, strconv.Itoa(workers), strconv.Itoa(runs))
}

// leastTimed is the time that runs of a process take at least, so that those of a small network are not all within one disturbance, and mostTimed
// how many there are at most.
const (
	leastTimed = 300 * time.Millisecond
	mostTimed  = 1000
)

// timesChild is the child of runTimes. The first runs do not count.
func timesChild(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("usage: bench %s PACKAGE MODEL WORKERS RUNS", timesCommand)
	}
	workers, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	runs, err := strconv.Atoi(args[3])
	if err != nil {
		return err
	}
	var options []runtime.Option
	if workers > 0 {
		options = append(options, runtime.WithWorkers(workers))
	}
	m, err := runtime.Open(args[0], options...)
	if err != nil {
		return err
	}
	defer m.Close()
	inputs, err := inputsOf(args[1], 1, m.Inputs())
	if err != nil {
		return err
	}
	for i, x := range inputs {
		if err := m.SetInputIndex(i, x); err != nil {
			return err
		}
	}
	const before = 3
	var times []float64
	for k, begun := 0, time.Now(); k < before+runs || k < mostTimed && time.Since(begun) < leastTimed; k++ {
		start := time.Now()
		if err := m.Run(); err != nil {
			return err
		}
		if k >= before {
			times = append(times, 1e3*time.Since(start).Seconds())
		}
	}
	return json.NewEncoder(os.Stdout).Encode(times)
}
