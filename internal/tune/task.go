package tune

import (
	"cmp"
	"math"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/records"
)

// Steering of the order of tasks.
const (
	patience    = 16      // trials without gain that halve what a task promises
	found       = 1.0 / 3 // of the time between a kernel and the roofline, what tuning finds
	unknownRoom = 0.5     // share of a kernel's time above its roofline where none is known
	exceptions  = 0.1     // share of the time whose kernels may be faster than their rooflines
	leastRoom   = 0.02    // share that is taken for possible where a kernel seems to be at its roofline
	progress    = 0.99    // times the best's bound, below which a trial is a gain
	failed      = 2.0     // times the host's time that a trial without a time counts to the model
)

// A Trial is a point that was tried.
type Trial struct {
	Built
	Estimate
	Fault   records.Fault
	Tuner   string
	Index   int // of the trials of a run, from 1
	Workers int // that took part in the race
	won     bool
}

// ok reports a trial that has a time.
func (t *Trial) ok() bool { return t.Fault == records.None && t.Pairs > 0 }

// ratio is what the model learns.
func (t *Trial) ratio() float64 {
	if !t.ok() {
		return failed
	}
	return t.Ratio
}

// told is what compiling a point told, for records and the model.
func (b *Built) told() *records.Built {
	return &records.Built{Taken: b.Taken, Cost: costOf(b), Cycles: b.Cycles, Spills: b.Spills, Code: b.Code}
}

// A search is what is known of a task.
type search struct {
	*Task
	lanes    int
	root     *Built   // without anything given; nil: it could not be built
	built    []*Built // points whose decisions are known
	trials   []*Trial
	best     []*Trial // that have a time, by upper bound; the first two count
	since    int      // trials since the last gain
	done     bool     // nothing new is proposed
	racing   bool     // nothing new is proposed now
	seen     map[string]bool
	changed  account
	starts   []choice.Point // to be tried first
	asks     func(string) bool
	division *Trial  // the best other division among workers
	winner   *Trial  // of the confirmation
	tooLow   float64 // by how much the target's peaks are, as all tasks show
	grown    int     // of the points that were built, those with all children proposed
}

// High is the upper bound of the time of the best over the host's, whose own ratio is 1.
func (s *search) high() float64 {
	if len(s.best) == 0 {
		return 1
	}
	return min(1, s.best[0].High)
}

// ratio is the median of the best.
func (s *search) ratio() float64 {
	if len(s.best) == 0 {
		return 1
	}
	return min(1, s.best[0].Ratio)
}

// promises is the time in a run that further trials are expected to gain, microseconds.
func (s *search) promises() float64 {
	if s.done || s.root == nil {
		return 0
	}
	return found * s.room() * s.ratio() * micro(s.Weight()) * math.Exp2(-float64(s.since)/patience)
}

// room is the share of the best's time above the roofline.
func (s *search) room() float64 {
	if s.Peak <= 0 || s.Time <= 0 {
		return unknownRoom
	}
	return max(leastRoom, 1-float64(s.Peak)/(max(1, s.tooLow)*float64(s.Time)*s.ratio()))
}

// underrated is how many times as fast as by the target's peaks the machine is at least: no kernel can be faster than its peak, and where many are, the
// target's facts are wrong, by which all would seem to have no room. Kernels of a part of the time do not count: their operands may lie nearer than
// the roofline has them.
func underrated(tasks []Task) float64 {
	type speed struct{ over, weight float64 }
	var list []speed
	all := 0.0
	for _, t := range tasks {
		if t.Peak > 0 && t.Time > 0 {
			list = append(list, speed{float64(t.Peak) / float64(t.Time), float64(t.Weight())})
			all += float64(t.Weight())
		}
	}
	slices.SortFunc(list, func(a, b speed) int { return cmp.Compare(b.over, a.over) })
	above := 0.0
	for _, s := range list {
		if above += s.weight; above > exceptions*all {
			return max(1, s.over)
		}
	}
	return 1
}

// work is what the kernel does.
func (s *search) work() *records.Work {
	return &records.Work{Ops: s.Ops, Shapes: s.Shapes, FLOPs: s.FLOPs, Bytes: s.Bytes, Lanes: s.lanes, Time: round(micro(s.Time)), Peak: round(micro(s.Peak))}
}

// add takes a trial in.
func (s *search) add(t *Trial) {
	s.trials = append(s.trials, t)
	s.seen[identity(t.Point)] = true
	s.changed.add(t.Point)
	if s.root != nil {
		s.changed.idle.add(nil, s.root.Object)
		s.changed.idle.add(t.Point, t.code(s.root))
	}
	if len(t.Asked) > 0 {
		s.built = append(s.built, &t.Built)
	}
	s.since++
	if !t.ok() {
		return
	}
	if t.High < progress*s.high() {
		s.since = 0
	}
	i, _ := slices.BinarySearchFunc(s.best, t, func(a, b *Trial) int {
		if a.High <= b.High {
			return -1
		}
		return 1
	})
	s.best = slices.Insert(s.best, i, t)
}

// code names what was built, that of the root where it is the same; "" where nothing was.
func (t *Trial) code(root *Built) string {
	if t.Same {
		return root.Object
	}
	return t.Object
}

// try marks points as proposed and returns those that are new, at most n, without values that make no difference.
func (s *search) try(n int, points ...choice.Point) []choice.Point {
	var list []choice.Point
	for _, p := range points {
		if len(list) == n {
			break
		}
		if p == nil {
			continue
		}
		p = s.changed.idle.without(p)
		if id := identity(p); !s.seen[id] {
			s.seen[id] = true
			list = append(list, p)
		}
	}
	return list
}
