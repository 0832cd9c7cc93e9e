package measure

import (
	"fmt"
	"lathe/internal/executor"
	"slices"
	"time"
)

// Race runs the network until every candidate of the list has its pairs. Each pass gives a sample at every step of a task that has some
// left to measure. The host's kernel and the candidate take turns as in A B B A: drift of the machine's speed adds to
// both alike.
//
// With windows there is one pass only, which at such a step goes some steps back before each sample: as far as brings the caches into
// about the state that they have there.
func (r *Runner) Race(list []Want, windows bool) ([]Pairs, error) {
	q := &queue{tasks: map[int][]*want{}, turns: map[int]*turn{}}
	wants := make([]*want, len(list))
	for i, w := range list {
		task, code := w.ID, (*executor.Variant)(nil)
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
	var err error
	if windows {
		err = r.pass(func(step, task, number int) (bool, error) { return r.window(q.tasks[task], step, task, number) })
	}
	for err == nil && q.open() {
		err = r.pass(func(step, task, number int) (bool, error) {
			t := q.turn(step, task)
			if t.of == nil {
				return false, nil
			}
			own := t.host()
			took, err := r.sample(t.code(r.own[task], own), number)
			t.take(micro(took), own)
			return true, err
		})
	}
	if err != nil {
		return nil, err
	}
	out := make([]Pairs, len(wants))
	for i, w := range wants {
		out[i] = w.Pairs
	}
	return out, nil
}

// window takes the share of pairs that falls to one of the steps of a task. The host's kernel runs before and behind every two candidates,
// of which each has the nearer run for a pair: the one behind it in every other round. In the end the step is done.
func (r *Runner) window(list []*want, step, task, number int) (ran bool, err error) {
	steps := r.host.Tasks[task].Steps
	share := map[*want]int{}
	for _, w := range list {
		share[w] = (w.left + len(steps) - number - 1) / (len(steps) - number)
	}
	run := func(v *executor.Variant) (us float64) {
		if err == nil && ran { // the first comes along in a run
			err = r.module.RunSteps(steps[number].Window, step)
		}
		if err == nil {
			var took time.Duration
			took, err = r.sample(v, number)
			us, ran = micro(took), true
		}
		return us
	}
	for round := 0; err == nil; round++ {
		var racing []*want
		for _, w := range list {
			if round < share[w] {
				racing = append(racing, w)
			}
		}
		if len(racing) == 0 {
			return ran, nil
		}
		if round%2 == 1 {
			slices.Reverse(racing)
		}
		host := run(r.own[task])
		for two := range slices.Chunk(racing, 2) {
			first := run(two[0].code)
			two[0].add(first, host)
			if len(two) == 2 {
				second := run(two[1].code)
				host = run(r.own[task])
				two[1].add(second, host)
			}
		}
	}
	return ran, err
}

// add is for a pair that was not handed out.
func (w *want) add(us, host float64) {
	w.left--
	w.Times, w.Pairs.Host = append(w.Times, us), append(w.Pairs.Host, host)
}

// A want is a candidate with the pairs that it has, and how many nobody has begun.
type want struct {
	Pairs
	code *executor.Variant
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

// code is what the next run is of.
func (t *turn) code(own *executor.Variant, host bool) *executor.Variant {
	if host {
		return own
	}
	return t.of.code
}

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
