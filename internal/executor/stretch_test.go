package executor

import (
	"slices"
	"testing"
	"time"
)

// TestStretches: after some runs no call takes long but those of one step, all steps run once and in order, short runs are never cut, nor is what
// follows a step that takes long by itself. Now and then a step takes longer because another program has its CPU, which changes nothing.
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
		for run := range 40 {
			first := 0
			for i := 0; i < len(s.ends); {
				last, took := s.ends[i], 0
				if last <= first {
					t.Fatalf("steps of %v ms: called up to %d after %d", c.steps, last, first)
				}
				for _, ms := range c.steps[first:last] {
					took += ms
				}
				if run > 20 && run%7 == i%7 && last-first == 1 {
					took += 30
				}
				first = last
				i = s.ran(i, time.Duration(took)*time.Millisecond)
			}
			if first != len(c.steps) {
				t.Fatalf("steps of %v ms: run up to %d", c.steps, first)
			}
		}
		if !slices.Equal(s.ends, c.ends) {
			t.Errorf("steps of %v ms: called up to %v, want %v", c.steps, s.ends, c.ends)
		}
	}
}
