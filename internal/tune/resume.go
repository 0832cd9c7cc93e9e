package tune

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"lathe/internal/choice"
	"lathe/internal/records"
)

// Starting points of a task from records.
const (
	ownStarts  = 8 // of the kernel itself
	nearStarts = 4 // of its neighbours
)

// resume takes the trials of earlier runs with the same network, seed and rules for trials of this one, and the best points of other
// records for starting points.
func (r *run) resume() error {
	for _, s := range r.tasks {
		var own, near []records.Record
		for _, rec := range r.Records {
			if rec.Target != s.Target || rec.Raced > 1 {
				continue
			}
			switch {
			case rec.Key == s.Key && r.Replay == nil && rec.Stage == records.Search && rec.Network == r.Network && rec.By.Seed == r.Seed &&
				rec.By.Rules == r.By.Rules && rec.By.Tuner == r.By.Tuner:
				if s.seen[identity(rec.Point)] {
					continue
				}
				s.add(remembered(s.Index, rec))
				r.result.Trials++
				r.result.Resumed++
				if rec.Fault != records.None {
					r.result.Faults++
				}
			case rec.Kernel == s.Kernel:
				own = append(own, rec)
			case rec.Anchor == s.Anchor && s.Anchor != "":
				near = append(near, rec)
			}
		}
		s.starts = append(s.starts, bestOf(own, ownStarts)...)
		s.starts = append(s.starts, bestOf(near, nearStarts)...)
		for _, p := range r.Starts[s.Index] {
			s.starts = append(s.starts, s.having(p))
		}
		s.starts = append(s.starts, r.foreign(s)...)
	}
	r.guide.model.recall(r.Records)
	if err := r.revisit(); err != nil {
		return err
	}
	r.guide.model.learn(r.tasks)
	return nil
}

// foreign are the starting points that TVM's logs have for a task, those first that were fastest there.
func (r *run) foreign(s *search) (points []choice.Point) {
	if s.root == nil {
		return nil
	}
	var shapes [][]int
	for _, typ := range s.Shapes {
		shapes = append(shapes, extents(typ))
	}
	fit := slices.DeleteFunc(slices.Clone(r.Foreign), func(f records.Start) bool { return !f.Fits(shapes) })
	slices.SortStableFunc(fit, func(a, b records.Start) int { return cmp.Compare(a.Seconds, b.Seconds) })
	for _, f := range fit {
		if p := f.Point(s.root.Asked, r.Lanes); p != nil && len(points) < nearStarts {
			points = append(points, p)
		}
	}
	return points
}

// having is p without values that decisions do not have here, as where points are chosen by other facts.
func (s *search) having(p choice.Point) choice.Point {
	if s.root == nil {
		return p
	}
	p = maps.Clone(p)
	for _, d := range s.root.Asked {
		if !slices.ContainsFunc(d.Values, func(v choice.Value) bool { return v.Text == p[d.Name] }) {
			delete(p, d.Name)
		}
	}
	return p
}

// remembered is a trial of an earlier run.
func remembered(task int, rec records.Record) *Trial {
	t := &Trial{Built: Built{Candidate: Candidate{task, rec.Point}}, Fault: rec.Fault, Tuner: rec.By.Tuner, Index: rec.By.Trial}
	if rec.Ratio > 0 {
		t.Estimate = Estimate{rec.Ratio, rec.Low, rec.High, max(1, len(rec.Times))}
	}
	if b := rec.Built; b != nil {
		t.Taken, t.Cycles, t.Spills, t.Code = b.Taken, b.Cycles, b.Spills, b.Code
	}
	return t
}

// revisit builds resumed points again from which the tuner moves on: their spaces are in no record.
func (r *run) revisit() error {
	var list []Candidate
	var trials []*Trial
	for _, s := range r.tasks {
		from := s.best[:min(len(s.best), descents)]
		if r.tuner.spaces {
			from = s.trials
		}
		for _, t := range from {
			list, trials = append(list, t.Candidate), append(trials, t)
		}
	}
	for len(list) > 0 {
		n := min(len(list), batch)
		built, err := r.build(list[:n])
		if err != nil {
			return err
		}
		for i, b := range built {
			if b.Fault == records.None {
				trials[i].Built = b
				s := r.of(b.Task)
				s.built = append(s.built, &trials[i].Built)
			}
		}
		list, trials = list[n:], trials[n:]
	}
	return nil
}

// bestOf are the points of records that gained most, once each.
func bestOf(list []records.Record, n int) []choice.Point {
	list = slices.DeleteFunc(slices.Clone(list), func(r records.Record) bool { return r.Fault != records.None || r.Ratio <= 0 || r.Ratio >= 1 })
	slices.SortStableFunc(list, func(a, b records.Record) int { return cmp.Compare(a.High, b.High) })
	var points []choice.Point
	seen := map[string]bool{}
	for _, r := range list {
		if id := identity(r.Point); !seen[id] && len(points) < n {
			seen[id] = true
			points = append(points, r.Point)
		}
	}
	return points
}

// replay tries the points of records, in their order.
func (r *run) replay() error {
	var list []Candidate
	for _, rec := range r.Replay {
		for _, s := range r.tasks {
			if rec.Stage == records.Search && rec.Raced <= 1 && rec.Kernel == s.Kernel && rec.Target == s.Target {
				for _, p := range s.try(1, rec.Point) {
					list = append(list, Candidate{s.Index, p})
				}
			}
		}
	}
	for part := range slices.Chunk(list, batch) {
		if _, err := r.try(r.begin(part), -1); err != nil {
			return err
		}
	}
	r.result.Ended = "all points were tried again"
	return nil
}

// record is a trial for the file.
func (r *run) record(t *Trial, s Samples, stage records.Stage) records.Record {
	of := r.of(t.Task)
	rec := records.Record{
		Version: records.Version, Key: of.Key, Point: t.Point, Times: rounded(s.Times), Host: rounded(s.Host), Fault: t.Fault, Stage: stage,
		Network: r.Network, Name: of.Name, Time: time.Now().UTC().Truncate(time.Second), By: r.By,
		Built: t.told(), Work: of.work(),
	}
	if of.root != nil {
		rec.Rule = of.root.told()
	}
	if t.ok() {
		rec.Ratio, rec.Low, rec.High = round(t.Ratio), round(t.Low), round(t.High)
	}
	if t.Workers > 1 {
		rec.Raced = t.Workers
	}
	rec.By.Trial = t.Index
	return rec
}

// costOf is the rules' estimate of what was taken over that of what they would take; 1 without estimates.
func costOf(b *Built) float64 {
	cost := 1.0
	for _, d := range b.Asked {
		i := slices.IndexFunc(d.Values, func(v choice.Value) bool { return v.Text == b.Taken[d.Name] })
		if i >= 0 && d.Values[i].Cost > 0 && d.Values[d.Default].Cost > 0 {
			cost *= d.Values[i].Cost / d.Values[d.Default].Cost
		}
	}
	return round(cost)
}

// round keeps five digits, which is more than a clock tells.
func round(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

func rounded(list []float64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = round(v)
	}
	return out
}

func (r *run) write(rec records.Record) error {
	if r.Sink == nil {
		return nil
	}
	return r.Sink(rec)
}
