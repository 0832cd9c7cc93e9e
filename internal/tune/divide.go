package tune

import (
	"cmp"
	"slices"

	"lathe/internal/records"
)

// divide tries other divisions among workers of the longest tasks, around the best that was found for each. All workers take part, so
// that times are those of the wall clock.
func (r *run) divide() error {
	if r.Workers <= 1 || r.Replay != nil || len(r.tasks) == 0 {
		return nil
	}
	order := slices.SortedStableFunc(slices.Values(r.tasks), func(a, b *search) int { return cmp.Compare(b.Weight(), a.Weight()) })
	order = order[:min(len(order), longest)]
	n := batch
	if r.Trials > 0 {
		n = min(n, max(0, r.Trials-r.result.Trials)/len(order))
	}
	best := map[int]float64{}
	var bases, others []Candidate
	for _, s := range order {
		if s.root == nil || s.Inside {
			continue
		}
		best[s.Index] = 1
		from := s.centres()[0]
		points := s.try(n, inTurn(moves(from, Divides))...)
		if len(points) > 0 && from != s.root {
			bases = append(bases, Candidate{s.Index, from.Point})
		}
		for _, p := range points {
			others = append(others, Candidate{s.Index, p})
		}
	}
	err := r.together(bases, best, func(t *Trial) { best[t.Task] = min(1, t.High) })
	if err != nil {
		return err
	}
	return r.together(others, best, func(t *Trial) {
		s := r.of(t.Task)
		if t.High < best[t.Task] {
			best[t.Task], s.division = t.High, t
		}
		r.say(Progress{Stage: Dividing, Task: s.Task, Current: s.rate(t.Ratio), Best: s.rate(s.ratio()), Done: len(s.trials), Planned: len(s.trials)})
	})
}

// together races candidates with all workers and hands on those that have a time.
func (r *run) together(list []Candidate, best map[int]float64, each func(*Trial)) error {
	for part := range slices.Chunk(list, batch) {
		if r.clock.over(forDividing) {
			return nil
		}
		built, err := r.build(part)
		if err != nil {
			return err
		}
		stop := searching(best)
		stop.Workers = r.Workers
		trials, err := r.measure(built, stop, records.Search)
		if err != nil {
			return err
		}
		for _, t := range trials {
			s := r.of(t.Task)
			s.trials = append(s.trials, t)
			if t.ok() {
				each(t)
			}
			if t.Fault != records.None {
				r.result.Faults++
			}
		}
	}
	return nil
}
