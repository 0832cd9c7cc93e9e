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
