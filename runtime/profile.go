package runtime

import (
	"fmt"
	"slices"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/tool/spelling"
)

// Step describes one step of a package, a kernel or a loop of kernels:
//
//	Name    string
//	Ops     []string // operators by Relay's names
//	Nodes   []string // nodes of the model
//	FLOPs   int64    // arithmetic operations
//	Bytes   int64    // read and written at least
//	Workers int      // that take part; 0 = all
//	Trips   int      // how often a loop runs its body, which the numbers above count; 0 for a kernel
//	Parts   int      // in how many parts of its rows a loop runs, each by one worker: Trips are the iterations of all; 0: it is no such loop
//	Body    []Step   // the steps of one iteration
//
// and what the compiler chose, for people:
//
//	Anchor    string            // the operator that the others are fused with
//	Attrs     []string          // attributes of the operators, in their order
//	Choice    []string          // why operators are computed by the algorithms they are
//	Rule      string            // of the schedule
//	Why       string            // tiles and reasons
//	Point     map[string]string // what was decided, by decision
//	Graph     map[string]map[string]string // what was decided before there were kernels, by node and decision
//	Multiply  string            // element type of the factors where products are summed
//	Constants int64             // bytes of constants among Bytes
//	Reads     []string          // types of the operands with their layouts; constants are marked by "const "
//	Writes    []string          // types of the results
type Step = bundle.Step

// Profile is where the time of runs goes.
type Profile struct {
	Runs  []time.Duration // whole runs, as Run does them, in order
	Steps []StepTime
}

// StepTime is the cost of one step.
type StepTime struct {
	Index int
	Step
	Median time.Duration // over the runs
	Min    time.Duration
}

// Profile runs the model repeat times as a whole and, in turns with that, repeat times with the time of each step taken,
// after one run that is not counted. Each step begins when the one before is done, which is not so in Run: the sum of the
// steps is that of a run, and the time until workers have come to each.
func (m *Module) Profile(repeat int) (*Profile, error) {
	if repeat < 1 {
		return nil, fmt.Errorf("profile: %s", spelling.Count(repeat, "run"))
	}
	if err := m.enter(); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	defer m.leave()
	return profile(m.info.Steps, repeat, m.code.Run, m.code.RunLaps)
}

// profile is Profile of what runs all steps, as a whole and with laps.
func profile(steps []Step, repeat int, whole func() error, byStep func(lap func(step int)) error) (*Profile, error) {
	if err := whole(); err != nil {
		return nil, err
	}
	p := &Profile{Runs: make([]time.Duration, repeat), Steps: make([]StepTime, len(steps))}
	samples := make([][]time.Duration, len(steps))
	laps := make([]time.Time, len(steps)+1)
	for r := range repeat {
		start := time.Now()
		if err := whole(); err != nil {
			return nil, err
		}
		p.Runs[r] = time.Since(start)
		if err := byStep(func(step int) { laps[step+1] = time.Now() }); err != nil {
			return nil, err
		}
		for i := range steps {
			samples[i] = append(samples[i], laps[i+1].Sub(laps[i]))
		}
	}
	for i, s := range steps {
		p.Steps[i] = StepTime{i, s, median(samples[i]), slices.Min(samples[i])}
	}
	return p, nil
}

// Run is the median of the whole runs.
func (p *Profile) Run() time.Duration { return median(slices.Clone(p.Runs)) }

// Sum is the time of all steps.
func (p *Profile) Sum() time.Duration {
	var sum time.Duration
	for _, s := range p.Steps {
		sum += s.Median
	}
	return sum
}

// median sorts d.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	n := len(d)
	return (d[(n-1)/2] + d[n/2]) / 2
}
