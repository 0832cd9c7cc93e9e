package sched

import (
	"math/rand/v2"
	"testing"
)

// TestPaced: all lines are asked for, less than one a turn in vain, and evenly where it is less than half a line that each turn is to ask for.
func TestPaced(t *testing.T) {
	const pace = 4
	r := rand.New(rand.NewPCG(4, 4))
	for range 2000 {
		outer, n := 1+r.IntN(40), 1+r.IntN(200)
		turns := outer * n
		whole := 1 + r.IntN(4*turns)
		always, every := paced(whole, outer, n, pace)
		asked := always * turns
		if every > 0 {
			asked += outer * ((n + every - 1) / every)
		}
		if every > pace || every == 1 || asked < whole || asked >= whole+turns {
			t.Fatalf("%d lines in %d x %d turns: %d, and one every %d", whole, outer, n, always, every)
		}
		if rest := whole % turns; rest > 0 && 2*rest <= turns && n >= pace && every == 0 {
			t.Errorf("%d lines in %d x %d turns: %d in each", whole, outer, n, always)
		}
	}
	for _, c := range []struct{ whole, outer, n, pace, always, every int }{
		{4500, 40, 75, pace, 1, 2}, {3000, 40, 75, pace, 1, 0}, {6000, 40, 75, pace, 2, 0}, {750, 40, 75, pace, 0, 4}, {5000, 40, 75, pace, 2, 0},
		{1, 1, 1, pace, 1, 0}, {4500, 40, 75, 1, 2, 0}, {4500, 40, 75, 0, 2, 0},
	} {
		if always, every := paced(c.whole, c.outer, c.n, c.pace); always != c.always || every != c.every {
			t.Errorf("%d lines in %d x %d turns: %d, and one every %d, want %d and %d", c.whole, c.outer, c.n, always, every, c.always, c.every)
		}
	}
}
