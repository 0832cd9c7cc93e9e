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
	Package string               // path
	Workers int                  // of use; 0: as the machine allows
	Evict   int                  // bytes that a core reads to forget what its cache holds
	Walk    executor.VariantInfo // that runs its steps, those of bodies of loops and branches among them, one by one; no path: the package's own do
	Steps   int                  // of the walk
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
	Index   int // in the walk
	Top     int // of the package: itself, or what it is inside of
	Calls   int // in a run of the package
	Results []bundle.Place
	InPlace []bundle.Place // operands that it writes over
	Window  int            // the step from which on all up to this one can be run again, with caches as in a run
	Kept    []bundle.Place // where that needs what lies there as it was before

	// Near and NearKept are the same for the step from which on the cores' own caches come to be as in a run: L3 may hold more.
	Near     int
	NearKept []bundle.Place
	Recent   []bundle.Place // operands that a core has in its cache when the step begins, the latest last
}

// A Candidate is other code of a task.
type Candidate struct {
	ID   int // a number by which it is asked for again
	Task int
	Code executor.VariantInfo
}

// A Check is what the first runs of a candidate say.
type Check struct {
	ID    int
	Wrong string // how its result differs from the host's; "" where it does not
	// Time is the least of its runs, as many as tell whether it is out, and Host that of the host's on warm caches, microseconds.
	Time, Host float64
}

// A Want asks for pairs of runs of a candidate that was loaded.
type Want struct {
	ID    int
	Pairs int
	Host  bool // the task's own kernel stands for the candidate
}

// Pairs are times of a candidate and of the host's kernel at the same step in neighbouring runs, microseconds.
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
	walk    *executor.Variant // nil: the package's own steps
	own     []*executor.Variant
	loaded  map[int]*entrant
	done    int      // steps of the walk that have run
	here    *stand   // nil: the network is at no task's step
	before  [][]byte // memory of here's expectation
	want    [][]byte
	evict   []byte // what is read to empty the cache
	read    int    // what came of that: nobody may leave it out
}

// An entrant is a candidate that is loaded.
type entrant struct {
	Candidate
	variant *executor.Variant
}

// Open opens the network. With all, a sample is a step by all workers, which meet at its end; else it is the first worker's part of it, by a
// thread that is bound to its processor.
func Open(h Host, all bool) (*Runner, error) {
	r := &Runner{host: h, all: all, loaded: map[int]*entrant{}, evict: make([]byte, h.Evict)}
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
	fillBytes(r.evict, 1) // pages that nobody wrote are all the same memory
	if err := r.ready(); err != nil {
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

// ready fills the inputs, loads the network's own kernels and runs it once.
func (r *Runner) ready() error {
	if err := fill(r.module); err != nil {
		return err
	}
	if r.host.Walk.Path != "" {
		var err error
		if r.walk, err = r.module.OpenVariant(r.host.Walk); err != nil {
			return err
		}
	}
	for _, t := range r.host.Tasks {
		v, err := r.module.OpenVariant(t.Own)
		if err != nil {
			return err
		}
		r.own = append(r.own, v)
		for _, s := range t.Steps {
			if s.Index < 0 || s.Index >= r.host.Steps {
				return fmt.Errorf("step %d of a walk of %d", s.Index, r.host.Steps)
			}
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

// Profile is the median time of one call of each task's own kernel, microseconds, in runs of the whole network.
func (r *Runner) Profile(passes int) ([]float64, error) {
	type place struct{ step, task, number int }
	var order []place
	for i, t := range r.host.Tasks {
		for k, s := range t.Steps {
			order = append(order, place{s.Index, i, k})
		}
	}
	slices.SortFunc(order, func(a, b place) int { return a.step - b.step })
	if err := r.leave(); err != nil {
		return nil, err
	}
	times := make([][]float64, len(r.own))
	for range passes {
		for _, p := range order {
			if err := r.upTo(p.step); err != nil {
				return nil, err
			}
			took, err := r.run(r.own[p.task], p.number)
			if err != nil {
				return nil, err
			}
			if !r.all && r.workers > 1 {
				if _, err := r.own[p.task].Part(p.number, 1, r.workers, r.workers); err != nil {
					return nil, err
				}
			}
			r.done = p.step + 1
			times[p.task] = append(times[p.task], micro(took))
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
