package executor

import (
	"slices"
	"testing"
	"time"
)

// TestStretches: after some runs no call takes long but those of one step, all steps run once and in order, short runs are never cut, nor is what
// follows a step that takes long by itself. That every seventh run takes longer, because another program has a CPU, changes nothing, and what two such runs have
// changed is found anew.
func TestStretches(t *testing.T) {
	for _, c := range []struct {
		steps []int // ms of each
		ends  []int
	}{
		{[]int{0, 0, 0}, []int{3}},
		{[]int{1, 1, 1, 1}, []int{4}},
		{[]int{9}, []int{1}},
		{[]int{90}, []int{1}},
		{[]int{9, 9}, []int{1, 2}},
		{[]int{1, 1, 2, 2}, []int{2, 4}},
		{[]int{0, 0, 90, 0, 0, 90, 0}, []int{1, 2, 7}},
		{[]int{90, 1}, []int{2}},
		{[]int{1, 1, 1, 1, 9}, []int{2, 3, 4, 5}},
		{slices.Repeat([]int{1}, 64), []int{4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64}},
	} {
		s := newStretches(len(c.steps))
		ends := func() (list []int) {
			for _, e := range s.list {
				list = append(list, e.end)
			}
			return list
		}
		run := func(disturbed bool) {
			s.begin()
			first := 0
			for i := 0; i < len(s.list); {
				last, took := s.list[i].end, 0
				if last <= first {
					t.Fatalf("steps of %v ms: called up to %d after %d", c.steps, last, first)
				}
				for _, ms := range c.steps[first:last] {
					took += ms
				}
				if disturbed {
					took += 30
				}
				first = last
				i = s.ran(i, time.Duration(took)*time.Millisecond)
			}
			if first != len(c.steps) {
				t.Fatalf("steps of %v ms: run up to %d", c.steps, first)
			}
		}
		for i := range 40 {
			run(i%7 == 6)
		}
		if !slices.Equal(ends(), c.ends) {
			t.Errorf("steps of %v ms: called up to %v, want %v", c.steps, ends(), c.ends)
		}
		for i := range renewal + 20 {
			run(i < 3)
		}
		if !slices.Equal(ends(), c.ends) {
			t.Errorf("steps of %v ms: called up to %v some hundred runs after disturbed ones, want %v", c.steps, ends(), c.ends)
		}
	}
}
