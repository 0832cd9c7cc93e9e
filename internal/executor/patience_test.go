package executor

import (
	"testing"
	"time"
)

// TestPauses: patience is counted in pauses of this CPU, of which a longer time has more.
func TestPauses(t *testing.T) {
	short, long := pausesOf(idlePatience), pausesOf(stepPatience)
	if short == 0 || long < short*uint32(stepPatience/idlePatience) {
		t.Errorf("%d pauses in %v and %d in %v", short, idlePatience, long, stepPatience)
	}
	if p := pause(); p < 1 || p > float64(time.Millisecond) {
		t.Errorf("a pause of %g ns", p)
	}
}

// TestPatience: somebody sleeps in a run, and the next ones have less patience, whatever happens in them. The one behind them has all of
// it, and keeps it unless somebody sleeps then too.
func TestPatience(t *testing.T) {
	p := patience{long: 100, short: 5}
	naps := uint32(0)
	for round, slept := range []bool{false, false, true, true, false, true, false} {
		if slept {
			naps += 2
		}
		got := p.after(naps)
		if !slept {
			if got != 100 {
				t.Fatalf("round %d: %d pauses after a run in which nobody slept", round, got)
			}
			continue
		}
		for run := range hastyRuns {
			if got != 5 {
				t.Fatalf("round %d: %d pauses %d runs after one in which somebody slept", round, got, run)
			}
			if run%2 == 0 {
				naps += 2
			}
			got = p.after(naps)
		}
		if got != 100 {
			t.Fatalf("round %d: %d pauses after %d runs of less", round, got, hastyRuns)
		}
	}
}
