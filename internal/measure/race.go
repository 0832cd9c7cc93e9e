package measure

import (
	"fmt"

	"lathe/runtime"
)

// Race runs the network until every candidate of the list has its pairs. Each pass gives a sample at every step of a task that has some
// left to measure. The host's kernel and the candidate take turns as in A B B A: drift of the machine's speed adds to
// both alike.
func (r *Runner) Race(list []Want) ([]Pairs, error) {
	q := &queue{tasks: map[int][]*want{}, turns: map[int]*turn{}}
	wants := make([]*want, len(list))
	for i, w := range list {
		task, code := w.ID, (*runtime.Variant)(nil)
		if !w.Host {
			e := r.loaded[w.ID]
			if e == nil {
				return nil, fmt.Errorf("candidate %d was not loaded", w.ID)
			}
			task, code = e.Task, e.variant
		} else if code = r.own[w.ID]; code == nil {
			return nil, fmt.Errorf("task %d of %d", w.ID, len(r.own))
		}
		wants[i] = &want{code: code, left: w.Pairs, Pairs: Pairs{ID: w.ID}}
		q.tasks[task] = append(q.tasks[task], wants[i])
	}
	for q.open() {
		err := r.pass(func(step, task, number int) (bool, error) {
			t := q.turn(step, task)
			if t.of == nil {
				return false, nil
			}
			own := t.host()
			v := r.own[task]
			if !own {
				v = t.of.code
			}
			took, err := r.sample(v, number)
			t.take(micro(took), own)
			return true, err
		})
		if err != nil {
			return nil, err
		}
	}
	out := make([]Pairs, len(wants))
	for i, w := range wants {
		out[i] = w.Pairs
	}
	return out, nil
}

// A want is a candidate with the pairs that it has, and how many nobody has begun.
type want struct {
	Pairs
	code *runtime.Variant
	left int
}

// A queue hands out candidates to the steps of their tasks, in turns.
type queue struct {
	tasks map[int][]*want
	turns map[int]*turn // by step
}

// open reports whether pairs are missing.
func (q *queue) open() bool {
	for _, t := range q.turns {
		if t.of != nil && t.runs > 0 {
			return true
		}
	}
	for _, list := range q.tasks {
		for _, w := range list {
			if w.left > 0 {
				return true
			}
		}
	}
	return false
}

// turn is what a step measures next.
func (q *queue) turn(step, task int) *turn {
	t := q.turns[step]
	if t == nil {
		t = &turn{}
		q.turns[step] = t
	}
	if t.runs > 0 { // in the middle of a pair
		return t
	}
	t.of = nil
	list := q.tasks[task]
	for i, w := range list {
		if w.left > 0 {
			w.left--
			t.of, t.pairs = w, t.pairs+1
			q.tasks[task] = append(append(list[:i:i], list[i+1:]...), w)
			break
		}
	}
	return t
}

// A turn is a pair at a step.
type turn struct {
	of    *want
	pairs int // that have begun here
	runs  int // of this one: 0 or 1
	first float64
}

// host reports whether the next run is the host's: of odd pairs the first, of even ones the second.
func (t *turn) host() bool { return (t.pairs%2 == 1) == (t.runs == 0) }

func (t *turn) take(us float64, own bool) {
	if t.runs == 0 {
		t.first, t.runs = us, 1
		return
	}
	host, candidate := t.first, us
	if own {
		host, candidate = us, t.first
	}
	t.of.Times, t.of.Pairs.Host = append(t.of.Times, candidate), append(t.of.Pairs.Host, host)
	t.runs = 0
}
