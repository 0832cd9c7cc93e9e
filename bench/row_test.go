package main

import (
	"slices"
	"testing"
)

// TestSameTop: the greatest value may be one that is as great but for the distance of the outputs, and no other.
func TestSameTop(t *testing.T) {
	theirs := slices.Repeat([]float64{1}, 1000)
	theirs[0], theirs[1], theirs[2] = 3, 2.995, 2
	for _, c := range []struct {
		at   int
		more float64
		want bool
	}{{0, 0, true}, {0, 1, true}, {1, 0.1, true}, {2, 1.1, false}, {3, 2.1, false}} {
		ours := slices.Clone(theirs)
		ours[c.at] += c.more
		if got := sameTop(ours, theirs); got != c.want {
			t.Errorf("value %d is greater by %g: %t", c.at, c.more, got)
		}
	}
}

// TestUnderLoad: of runs of two kinds the mean counts, for what is left of the processors and against others.
func TestUnderLoad(t *testing.T) {
	one := &row{Threads: 1, Lathe: &timing{Mean: 6}, Peers: []rival{{Time: &timing{Mean: 9}}, {}}}
	r := &row{Threads: 2, Busy: 0.5, Lathe: &timing{Median: 9, Mean: 4}, Peers: []rival{{Time: &timing{Median: 4, Mean: 8}}, {}}}
	r.finish(1)
	r.underLoad(one)
	if p := r.Peers[0]; r.Share != 1 || p.Share != 0.75 || p.Ratio != 2 || r.Peers[1].Ratio != 0 {
		t.Errorf("%+v", r)
	}
}
