package tune

import (
	"cmp"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/records"
)

// prove races the best of each task on fresh pairs. They are built anew: objects of the search, or of an earlier run, may be gone.
func (r *run) prove() error {
	for _, workers := range []int{1, r.Workers} {
		var list []Candidate
		for _, s := range r.tasks {
			list = append(list, s.finalists(workers)...)
		}
		r.byPromise(list)
		n := someProofs
		if r.Time > 0 {
			n = fewProofs
		}
		for part := range slices.Chunk(list, n) {
			if r.clock.over(1) {
				return nil
			}
			built, err := r.build(part)
			if err != nil {
				return err
			}
			stop := confirming()
			stop.Workers, stop.Until = max(1, workers), r.clock.until(1)
			trials, err := r.measure(built, stop, records.Confirm)
			if err != nil {
				return err
			}
			for _, t := range trials {
				s := r.of(t.Task)
				if t.won && (s.winner == nil || s.winner.Workers < stop.Workers || t.High < s.winner.High) {
					s.winner = t
				}
				r.say(Progress{Stage: Proving, Task: s.Task, Current: s.rate(t.Ratio), Best: s.rate(s.ratio()), Done: len(s.trials), Planned: len(s.trials)})
			}
		}
		if workers == r.Workers {
			break
		}
	}
	return nil
}

// byPromise puts those first of which the network gains most.
func (r *run) byPromise(list []Candidate) {
	gain := func(c Candidate) float64 {
		s, ratio := r.of(c.Task), 1.0
		for _, t := range append(slices.Clip(s.best[:min(len(s.best), finalists)]), s.division) {
			if t != nil && identity(t.Point) == identity(c.Point) {
				ratio = t.Ratio
			}
		}
		return (1 - ratio) * micro(s.Weight())
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(gain(b), gain(a)) })
}

// finalists are the best of the search that may be worthwhile: by one worker's share, or the division among workers.
func (s *search) finalists(workers int) []Candidate {
	var list []Candidate
	if workers > 1 {
		if s.division != nil && s.division.Ratio < 1/Worthwhile {
			list = append(list, s.division.Candidate)
		}
		return list
	}
	for _, t := range s.best[:min(len(s.best), finalists)] {
		if t.Ratio < 1/Worthwhile {
			list = append(list, t.Candidate)
		}
	}
	return list
}

// judge races the whole network with the winners, and keeps those with which it is faster.
func (r *run) judge() error {
	var order []Candidate
	for _, s := range r.tasks {
		if s.winner != nil {
			order = append(order, s.winner.Candidate)
		}
	}
	certainty := func(c Candidate) float64 { return r.of(c.Task).winner.High }
	slices.SortStableFunc(order, func(a, b Candidate) int { return cmp.Compare(certainty(a), certainty(b)) })
	var gains []float64
	for _, c := range order {
		s := r.of(c.Task)
		gains = append(gains, (1-s.winner.Ratio)*micro(s.Weight())/max(1, micro(r.Host)))
	}
	stay, verdict, err := withdraw(r.ctx, r.measurer, order, gains, r.clock.pairs(), r.clock.left, func(n int, v Verdict) {
		r.say(Progress{Stage: Judging, Verdict: &v, Points: n})
	})
	if err != nil {
		return err
	}
	r.result.Verdict = verdict
	accepted := map[int]bool{}
	for i, c := range order {
		accepted[c.Task] = i < stay
		rec := r.record(r.of(c.Task).winner, Samples{}, records.Network)
		rec.Accepted = i < stay
		rec.Verdict = &records.Bounds{Ratio: round(verdict.Ratio), Low: round(verdict.Low), High: round(verdict.High)}
		if err := r.write(rec); err != nil {
			return err
		}
	}
	for _, s := range r.tasks {
		f := Found{Task: s.Task, Host: s.root, Trials: s.trials}
		if w := s.winner; w != nil {
			f.Point, f.Taken, f.Confirm, f.Won, f.Accepted, f.Workers, f.Built = w.Point, w.Taken, w.Estimate, true, accepted[s.Index], w.Workers, &w.Built
		}
		r.result.Found = append(r.result.Found, f)
	}
	return nil
}

// Changed are the decisions that were taken otherwise than by the rules, as their names and texts before and after.
func (f *Found) Changed() []Change {
	var list []Change
	if f.Built == nil {
		return nil
	}
	before := f.Default
	if f.Host != nil {
		before = f.Host.Taken
	}
	for _, d := range f.Built.Asked {
		if was, now := before[d.Name], f.Taken[d.Name]; was != now {
			list = append(list, Change{d.Name, was, now})
		}
	}
	return list
}

// A Change is a decision that was taken otherwise. From is empty where it was not asked before.
type Change struct{ Name, From, To string }

// Given reports whether the change is given, and not what follows from others.
func (c Change) Given(p choice.Point) bool { _, ok := p[c.Name]; return ok }
