package executor

import (
	"slices"
	"time"
)

// A goroutine that is in one call of foreign code for so long loses its processor to Go's monitor, which then wakes every 20 µs or so for the
// first milliseconds of the next call, on the CPU of a worker for whom the others wait.
const monitorPatience = 10 * time.Millisecond

// longestCall is how long a call of foreign code may take, where it can be cut.
const longestCall = monitorPatience * 2 / 5

// stretches are the runs of steps for which the library is called one after another. They are found by trial: what took too long in two runs, one after the other,
// is halved. Behind a step that takes longer by itself nothing is cut, since every further call would find the monitor awake. After some hundred
// runs they are found anew: a worker may have lost its CPU in both.
type stretches struct {
	list []stretch
	long bool // the last one begins with a step that takes longer
	runs int
}

// A stretch ends before a step, and took too long in the last run, or did not.
type stretch struct {
	end  int
	late bool
}

const renewal = 512 // runs

func newStretches(steps int) stretches { return stretches{list: []stretch{{end: steps}}} }

// steps is the number of all.
func (s *stretches) steps() int { return s.list[len(s.list)-1].end }

// begin begins a run.
func (s *stretches) begin() {
	if s.runs++; s.runs == renewal {
		*s = newStretches(s.steps())
	}
}

// ran is called with the time of a stretch. It returns which is the next one.
func (s *stretches) ran(i int, took time.Duration) (next int) {
	first, at := 0, &s.list[i]
	if i > 0 {
		first = s.list[i-1].end
	}
	middle, limit := (first+at.end)/2, longestCall
	if middle == first { // one step
		limit = monitorPatience
	}
	all := s.steps()
	again := at.late
	at.late = took > limit && !(s.long && at.end == all)
	switch {
	case !at.late || !again:
	case middle > first:
		at.late = false
		s.list = slices.Insert(s.list, i, stretch{end: middle})
		return i + 2
	default:
		rest := at.end < all
		s.list, s.long = append(s.list[:i], stretch{end: all}), true
		if rest {
			return i
		}
	}
	return i + 1
}
