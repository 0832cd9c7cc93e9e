package runtime

import (
	"sync/atomic"
	"testing"
)

// TestSpinner shortens the spin in a run with several misses, keeps it short while there are any, and lets it grow back.
func TestSpinner(t *testing.T) {
	var pauses atomic.Uint32
	s := newSpinner(&pauses, false)
	run := func(misses int) uint32 {
		s.begin()
		for range misses {
			s.missed()
		}
		return pauses.Load()
	}
	for i, c := range []struct {
		misses int
		want   uint32
	}{
		{0, barrierSpin}, {1, barrierSpin}, {crowdedMisses - 1, barrierSpin}, // a kernel that is badly divided
		{crowdedMisses, crowdedSpin}, {50, crowdedSpin}, {1, crowdedSpin}, // the run after one with misses does not grow
		{0, crowdedSpin}, {0, 2 * crowdedSpin}, {0, 4 * crowdedSpin}, {0, 8 * crowdedSpin}, {0, 16 * crowdedSpin}, {0, barrierSpin}, {0, barrierSpin},
	} {
		if got := run(c.misses); got != c.want {
			t.Errorf("run %d with %d misses: %d pauses, want %d", i, c.misses, got, c.want)
		}
	}
	if s := newSpinner(&pauses, true); pauses.Load() != 0 {
		t.Errorf("%d pauses where workers outnumber CPUs", pauses.Load())
	} else if s.missed(); pauses.Load() != 0 {
		t.Error("a miss made workers spin where they outnumber CPUs")
	}
}
