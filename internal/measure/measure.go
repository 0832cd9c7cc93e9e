// Package measure runs kernels in a network, some by other code than the network's own, and takes times. It executes what it is given
// and decides nothing: which candidates race, and how long, is said by who asks. It runs in a process of its own, which candidates may
// crash.
package measure

import (
	"errors"
	"fmt"
	"lathe/internal/executor"
	"slices"
	"time"

	"lathe/internal/bundle"
)

// A Host is the network in which candidates are measured.
type Host struct {
	Package string // path
	Workers int    // of use; 0: as the machine allows
	Tasks   []Task
}

// A Task is steps of the network that run equal code.
type Task struct {
	Steps     []Step
	Own       executor.VariantInfo // the network's own kernel as a variant
	Tolerance float64              // of float32 results, relative L2
}

// A Step is one of them. Its number in the task is that in variants.
type Step struct {
	Index   int // of the package
	Results []bundle.Place
	InPlace bool // what it writes lies where it reads
	Window  int  // the step from which on all up to this one can be run again, with caches as in a run
}

// A Candidate is other code of a task.
type Candidate struct {
	ID   int // a number by which it is asked for again
	Task int
	Code executor.VariantInfo
}

// A Check is what the first runs of a candidate say.
type Check struct {
	ID         int
	Wrong      string  // how its result differs from the host's; "" where it does not
	Time, Host float64 // the least of some runs on warm caches, of it and of the host's, microseconds
}

// A Want asks for pairs of runs of a candidate that was loaded.
type Want struct {
	ID    int
	Pairs int
	Host  bool // the task's own kernel stands for the candidate
}

// Pairs are times of a candidate and of the host's kernel at the same step in neighbouring passes, microseconds.
type Pairs struct {
	ID          int
	Times, Host []float64
}

// A Runner has the network open. Its methods may not be called at once.
type Runner struct {
	module  *executor.Module
	workers int  // of use
	all     bool // they are measured together, by wall clock; else one's part by the processor time of its thread
	host    Host
	own     []*executor.Variant
	loaded  map[int]*entrant
	at      map[int][2]int // by step of the package: its task, and its number there
	last    int            // the last step of a task
}

// An entrant is a candidate that is loaded.
type entrant struct {
	Candidate
	variant *executor.Variant
}

// Open opens the network. With all, a sample is a step by all workers, which meet at its end; else it is the first worker's part of it, by a
// thread that is bound to its processor.
func Open(h Host, all bool) (*Runner, error) {
	r := &Runner{host: h, all: all, loaded: map[int]*entrant{}, at: map[int][2]int{}}
	var err error
	if h.Workers == 0 {
		if h.Workers, err = usual(h.Package); err != nil {
			return nil, err
		}
	}
	workers := 1
	if all {
		workers = h.Workers
	}
	if r.module, err = executor.Open(h.Package, executor.Options{Workers: workers}); err != nil {
		return nil, err
	}
	r.workers = max(1, h.Workers)
	if limit := r.module.Info().MaxWorkers; limit > 0 {
		r.workers = min(r.workers, limit)
	}
	if err := r.prepare(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// usual is how many workers a package uses on this machine.
func usual(path string) (int, error) {
	m, err := executor.Open(path, executor.Options{})
	if err != nil {
		return 0, err
	}
	return m.Workers(), m.Close()
}

// prepare fills the inputs, loads the network's own kernels and runs it once.
func (r *Runner) prepare() error {
	if err := fill(r.module); err != nil {
		return err
	}
	for i, t := range r.host.Tasks {
		v, err := r.module.OpenVariant(t.Own)
		if err != nil {
			return err
		}
		r.own = append(r.own, v)
		for k, s := range t.Steps {
			if s.Index < 0 || s.Index >= len(r.module.Info().Steps) {
				return fmt.Errorf("step %d of a package of %d", s.Index, len(r.module.Info().Steps))
			}
			r.at[s.Index] = [2]int{i, k}
			r.last = max(r.last, s.Index)
		}
	}
	return r.module.Run()
}

// Close closes the network.
func (r *Runner) Close() error { return r.module.Close() }

// Workers is how many the network uses.
func (r *Runner) Workers() int { return r.workers }

// Load loads a candidate.
func (r *Runner) Load(c Candidate) error {
	if c.Task < 0 || c.Task >= len(r.own) {
		return fmt.Errorf("task %d of %d", c.Task, len(r.own))
	}
	v, err := r.module.OpenVariant(c.Code)
	if err != nil {
		return err
	}
	r.loaded[c.ID] = &entrant{c, v}
	return nil
}

// sample runs a step by a variant and takes its time. In the end all of the step is done.
func (r *Runner) sample(v *executor.Variant, step int) (time.Duration, error) {
	if r.all {
		return v.Run(step)
	}
	took, err := v.Part(step, 0, 1, r.workers)
	if err == nil && r.workers > 1 {
		_, err = v.Part(step, 1, r.workers, r.workers)
	}
	return took, err
}

// pass runs the network once up to the last step of a task. visit is called for steps of tasks, and runs them where it returns true.
func (r *Runner) pass(visit func(step, task, number int) (bool, error)) error {
	done := 0
	for step := 0; step <= r.last; step++ {
		at, ok := r.at[step]
		if !ok {
			continue
		}
		if err := r.upTo(&done, step); err != nil {
			return err
		}
		ran, err := visit(step, at[0], at[1])
		if err != nil {
			return err
		}
		if ran {
			done = step + 1
		}
	}
	return r.upTo(&done, r.last+1)
}

// upTo runs the package's own steps from done up to one.
func (r *Runner) upTo(done *int, step int) error {
	if *done >= step {
		return nil
	}
	from := *done
	*done = step
	return r.module.RunSteps(from, step)
}

// Profile is the median time of one call of each task's own kernel, microseconds.
func (r *Runner) Profile(passes int) ([]float64, error) {
	times := make([][]float64, len(r.own))
	for range passes {
		err := r.pass(func(_, task, number int) (bool, error) {
			took, err := r.sample(r.own[task], number)
			times[task] = append(times[task], micro(took))
			return true, err
		})
		if err != nil {
			return nil, err
		}
	}
	list := make([]float64, len(times))
	for i, t := range times {
		list[i] = median(t)
	}
	return list, nil
}

func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

func micro(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
