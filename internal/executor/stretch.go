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

// stretches are the runs of steps for which the library is called one after another. They are found by trial: what took too long is halved for
// the next run. Behind a step that takes longer by itself nothing is cut, since every further call would find the monitor awake.
type stretches struct {
	ends  []int // the step behind each
	long  bool  // the last one begins with a step that takes longer
	doubt int   // the step behind the first that took longer in the last run, perhaps because its worker had lost the CPU; 0: none
}

func newStretches(steps int) stretches { return stretches{ends: []int{steps}} }

// steps is the number of all.
func (s *stretches) steps() int { return s.ends[len(s.ends)-1] }

// ran is called with the time of a stretch. It returns which is the next one.
func (s *stretches) ran(i int, took time.Duration) (next int) {
	first, last := 0, s.ends[i]
	if i > 0 {
		first = s.ends[i-1]
	}
	middle := (first + last) / 2
	switch {
	case s.long && last == s.steps():
	case took > longestCall && middle > first:
		s.ends = slices.Insert(s.ends, i, middle)
		return i + 2
	case took > monitorPatience && (s.doubt == 0 || last < s.doubt):
		s.doubt = last
	case took > monitorPatience && last == s.doubt:
		all := s.steps()
		s.ends, s.long = append(s.ends[:i], all), true
		if last < all {
			return i // for the rest
		}
	case s.doubt == last:
		s.doubt = 0
	}
	return i + 1
}
