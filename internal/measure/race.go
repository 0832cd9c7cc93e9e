package measure

import (
	"fmt"
	"lathe/internal/executor"
	"slices"
)

// Race measures candidates at a position, each until it has its pairs.
func (r *Runner) Race(at Position, list []Want) ([]Pairs, error) {
	wants := make([]*want, len(list))
	for i, w := range list {
		task, code := w.ID, (*executor.Variant)(nil)
		if !w.Host {
			e := r.loaded[w.ID]
			if e == nil {
				return nil, fmt.Errorf("candidate %d was not loaded", w.ID)
			}
			task, code = e.Task, e.variant
		}
		if task != at.Task {
			return nil, fmt.Errorf("a candidate of task %d at a step of task %d", task, at.Task)
		}
		wants[i] = &want{code: code, left: w.Pairs, Pairs: Pairs{ID: w.ID}}
	}
	s, err := r.stand(at)
	if err != nil {
		return nil, err
	}
	own := r.own[at.Task]
	err = race(wants, func(w *want) (float64, error) {
		v := own
		if w != nil && w.code != nil {
			v = w.code
		}
		took, err := r.sample(s, v)
		return micro(took), err
	})
	out := make([]Pairs, len(wants))
	for i, w := range wants {
		out[i] = w.Pairs
	}
	return out, err
}

// A want is a candidate with the pairs that it has, and how many are missing.
type want struct {
	Pairs
	code *executor.Variant // nil: the network's own
	left int
}

// race runs candidates and, for nil, the host's kernel, until no pair is missing. The host's runs before and behind every two candidates,
// of which each has the nearer run for a pair: drift of the machine's speed adds to both alike. Every other round goes backwards, since
// whoever follows the host's may be better off.
func race(list []*want, run func(w *want) (us float64, err error)) error {
	for round := 0; ; round++ {
		var racing []*want
		for _, w := range list {
			if w.left > 0 {
				racing = append(racing, w)
			}
		}
		if len(racing) == 0 {
			return nil
		}
		if round%2 == 1 {
			slices.Reverse(racing)
		}
		host, err := run(nil)
		if err != nil {
			return err
		}
		for two := range slices.Chunk(racing, 2) {
			if err := two[0].add(run, host); err != nil {
				return err
			}
			if len(two) == 1 {
				break
			}
			us, err := run(two[1])
			if err != nil {
				return err
			}
			if host, err = run(nil); err != nil {
				return err
			}
			two[1].pair(us, host)
		}
	}
}

// add runs a candidate behind a run of the host's.
func (w *want) add(run func(w *want) (float64, error), host float64) error {
	us, err := run(w)
	w.pair(us, host)
	return err
}

func (w *want) pair(us, host float64) {
	w.left--
	w.Times, w.Pairs.Host = append(w.Times, us), append(w.Pairs.Host, host)
}
