package runtime

import (
	"sync/atomic"
	"testing"
	"time"
)

// TestPatience: short sleeps lead to long spins, long sleeps to short ones, and none is spent where workers share a CPU.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		from, to uint32
		sleeps   []time.Duration
	}{
		{firstSpin, mostSpin, []time.Duration{soon / 2, soon / 2, soon / 2}},
		{firstSpin, firstSpin, []time.Duration{(soon + late) / 2}},
		{mostSpin, leastSpin, []time.Duration{2 * late, 2 * late, 2 * late, 2 * late, 2 * late, 2 * late}},
		{leastSpin, mostSpin, []time.Duration{0, 0, 0, 0, 0}},
		{0, 0, []time.Duration{0, soon / 2, 2 * late}},
	} {
		var pauses atomic.Uint32
		pauses.Store(c.from)
		for _, d := range c.sleeps {
			slept(&pauses, d)
		}
		if got := pauses.Load(); got != c.to {
			t.Errorf("%d pauses after sleeps of %v: %d, want %d", c.from, c.sleeps, got, c.to)
		}
	}
}
