package tune

import (
	"iter"
	"slices"
	"time"

	"lathe/internal/records"
)

// early is the share of a batch that has raced when the next is proposed.
const early = 0.75

// A trying is a batch of candidates that are being built, in parts that race together.
type trying struct {
	list  []Candidate
	parts iter.Seq2[[]Built, error]
}

// begin starts to build candidates: those of a task are a part where the builder goes on while they race, and else all are. nil: there are none.
func (r *run) begin(list []Candidate) *trying {
	if len(list) == 0 {
		return nil
	}
	p, ok := r.builder.(Pipeline)
	if !ok {
		return &trying{list, func(yield func([]Built, error) bool) { yield(r.build(list)) }}
	}
	list = byTask(list, p.Order)
	built := p.Stream(r.ctx, list)
	return &trying{list, func(yield func([]Built, error) bool) {
		var part []Built
		n, from := 0, time.Now()
		for b, err := range built {
			part = append(part, b)
			if n++; err == nil && n < len(list) && list[n].Task == b.Task {
				continue
			}
			r.result.Built += time.Since(from) // time in which nobody raced
			if !yield(part, err) {
				return
			}
			part, from = nil, time.Now()
		}
	}}
}

// byTask puts candidates of a task next to each other, and tasks into an order.
func byTask(list []Candidate, order func([]int) []int) (sorted []Candidate) {
	var tasks []int
	for _, c := range list {
		if !slices.Contains(tasks, c.Task) {
			tasks = append(tasks, c.Task)
		}
	}
	for _, task := range order(tasks) {
		for _, c := range list {
			if c.Task == task {
				sorted = append(sorted, c)
			}
		}
	}
	return sorted
}

// leave ends what nobody waits for.
func (t *trying) leave() {
	if t != nil {
		for range t.parts {
			break
		}
	}
}

// try races a batch. When most of it has raced the next one is proposed, without the task that races last, and begins to be built beside that: no core
// waits for the others. nil: it is not, since the search may be over, or since too much of what it is to be learnt from races last, or since budget is
// negative, which says that nothing is to be proposed.
func (r *run) try(t *trying, budget int) (next *trying, err error) {
	best := map[int]float64{}
	for _, s := range r.tasks {
		best[s.Index] = s.high()
	}
	raced, learnt := 0, false
	for built, err := range t.parts {
		if err != nil {
			return next, err
		}
		ahead := func() {}
		if raced += len(built); raced == len(t.list) && budget >= 0 && float64(len(t.list)-len(built)) >= early*batch && r.ends(budget, len(built)) == "" {
			learnt = true
			ahead = r.ahead(built, budget, &next)
		}
		trials, err := r.measure(built, searching(best), records.Search)
		ahead()
		if err != nil {
			return next, err
		}
		for _, t := range trials {
			r.take(t)
		}
	}
	if !learnt {
		r.guide.model.learn(r.tasks)
	}
	return next, nil
}

// ahead proposes what follows a part while that races; what it returns waits for that.
func (r *run) ahead(part []Built, budget int, next **trying) (wait func()) {
	s := r.of(part[0].Task)
	n := r.room(budget, len(part))
	s.racing = true
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.guide.model.learn(r.tasks)
		*next = r.begin(r.propose(n))
	}()
	return func() { <-done; s.racing = false }
}
