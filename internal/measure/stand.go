package measure

import (
	"bytes"
	"fmt"
	"time"

	"lathe/internal/bundle"
	"lathe/internal/executor"
)

// A Position is a step of a task, at which candidates take its place.
type Position struct {
	Task, Step int
	Behind     Behind
}

// Behind is what a sample is taken behind.
type Behind int

const (
	// Emptied caches, of the one core that measures, which is given the operands that it holds in a run. It takes the least time, leaves other
	// traces than a run does, and is no proof.
	Emptied Behind = iota
	// Near has the steps run again from Step.Near on: for all cores what Emptied is for one.
	Near
	// Windowed has the steps run again from Step.Window on, behind which all is as in a run.
	Windowed
)

// From is the step that is run first, and what it needs as it was before.
func (s *Step) From(b Behind) (int, []bundle.Place) {
	switch b {
	case Windowed:
		return s.Window, s.Kept
	case Near:
		return s.Near, s.NearKept
	}
	return s.Index, s.InPlace
}

// A stand is the network run up to a position: its step is yet to be run.
type stand struct {
	Position
	at     Step
	from   int      // the step that is run first for a sample
	kept   []kept   // what is written over and read before
	recent [][]byte // operands that the cache holds in a run
	hope   *expectation
}

// kept is memory as it was.
type kept struct{ at, was []byte }

func (k kept) restore() { copy(k.at, k.was) }

// stand takes the network to a position. Where it is there, it stays.
func (r *Runner) stand(p Position) (s *stand, err error) {
	if r.here != nil && r.here.Position == p {
		return r.here, nil
	}
	if p.Task < 0 || p.Task >= len(r.own) || p.Step < 0 || p.Step >= len(r.host.Tasks[p.Task].Steps) {
		return nil, fmt.Errorf("step %d of task %d of %d", p.Step, p.Task, len(r.own))
	}
	if err := r.leave(); err != nil {
		return nil, err
	}
	s = &stand{Position: p, at: r.host.Tasks[p.Task].Steps[p.Step]}
	var places []bundle.Place
	s.from, places = s.at.From(p.Behind)
	if err := r.upTo(s.from); err != nil {
		return nil, err
	}
	for _, at := range places {
		b, err := r.module.MemoryAt(at)
		if err != nil {
			return nil, err
		}
		s.kept = append(s.kept, kept{b, bytes.Clone(b)})
	}
	if err := r.upTo(s.at.Index); err != nil {
		return nil, err
	}
	for _, at := range s.at.Recent {
		b, err := r.module.MemoryAt(at)
		if err != nil {
			return nil, err
		}
		s.recent = append(s.recent, b)
	}
	r.here = s
	return s, nil
}

// leave puts back what the step has written over.
func (r *Runner) leave() (err error) {
	if s := r.here; s != nil && len(s.at.InPlace) > 0 {
		err = r.prepare(s)
	}
	r.here = nil
	return err
}

// prepare makes memory what it is when the step begins.
func (r *Runner) prepare(s *stand) error {
	for _, k := range s.kept {
		k.restore()
	}
	if s.from < s.at.Index {
		return r.steps(s.from, s.at.Index)
	}
	return nil
}

// upTo runs the walk's own steps up to one, from the first again where that has run.
func (r *Runner) upTo(step int) error {
	if r.done > step {
		r.done = 0
	}
	from := r.done
	r.done = 0 // if it fails
	if from < step {
		if err := r.steps(from, step); err != nil {
			return err
		}
	}
	r.done = step
	return nil
}

// steps runs the steps [from, to) of the walk.
func (r *Runner) steps(from, to int) error {
	if r.walk == nil {
		return r.module.RunSteps(from, to)
	}
	_, err := r.walk.Run(from, to)
	return err
}

// sample runs the step by a variant, with caches as in a run, and takes its time. One worker's part leaves the step undone.
func (r *Runner) sample(s *stand, v *executor.Variant) (time.Duration, error) {
	if err := r.prepare(s); err != nil {
		return 0, err
	}
	if s.Behind == Emptied {
		r.read += touch(r.evict)
		for _, b := range s.recent {
			r.read += touch(b)
		}
	}
	return r.run(v, s.Step)
}

// run runs a step by a variant as it is measured: by all workers, or one worker's part of it.
func (r *Runner) run(v *executor.Variant, number int) (time.Duration, error) {
	if r.all {
		return v.Run(number, number+1)
	}
	return v.Part(number, 0, 1, r.workers)
}

// touch reads a byte of each cache line.
func touch(b []byte) (sum int) {
	const line = 64
	for i := 0; i < len(b); i += line {
		sum += int(b[i])
	}
	return sum
}
