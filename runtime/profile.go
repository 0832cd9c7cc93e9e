package runtime

import (
	"fmt"
	"slices"
	"time"

	"lathe/internal/bundle"
)

// Step describes one step of a package: a kernel with the operators and nodes it computes, and how.
type Step = bundle.Step

// StepTime is the cost of one step.
type StepTime struct {
	Index int
	Step
	Median time.Duration // over the runs
	Min    time.Duration
}

// Profile runs the model step by step, repeat times after one run that is not counted, and returns the time of each step
// in order. Starting the workers for every step is included, so the sum is a little more than the time of a run.
func (m *Module) Profile(repeat int) ([]StepTime, error) {
	if repeat < 1 {
		return nil, fmt.Errorf("profile: %d runs", repeat)
	}
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	defer m.leave()
	if err := m.ready(); err != nil {
		return nil, err
	}
	samples := make([][]time.Duration, len(m.info.Steps))
	for r := range repeat + 1 {
		for i, s := range m.info.Steps {
			start := time.Now()
			if err := m.call(i, i+1); err != nil {
				return nil, fmt.Errorf("step %d (%s): %w", i, s.Name, err)
			}
			if r > 0 {
				samples[i] = append(samples[i], time.Since(start))
			}
		}
	}
	times := make([]StepTime, len(samples))
	for i, s := range m.info.Steps {
		times[i] = StepTime{i, s, median(samples[i]), slices.Min(samples[i])}
	}
	return times, nil
}

// median sorts d.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	n := len(d)
	return (d[(n-1)/2] + d[n/2]) / 2
}
