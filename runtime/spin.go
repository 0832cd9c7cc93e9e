package runtime

import (
	"sync/atomic"
	"time"
)

// Numbers of pauses a worker spends at a barrier before it sleeps. The first takes 0.3 to 1 ms, about a kernel's time: workers
// finish a kernel some tens of microseconds apart, and waking a sleeper takes as long or, in a virtual machine, several times
// longer, so that who sleeps at one barrier is late at the next. A crowded one takes some tens of microseconds.
const (
	barrierSpin   = 30000
	crowdedSpin   = 1000
	crowdedMisses = 3 // spins in vain that make a run crowded

	pauseTime = 20 * time.Nanosecond // about a pause, where waiting goes by the clock
)

// A spinner chooses how long workers spin at barriers. Where a worker waits for its CPU, because others use it, those who
// wait for that worker may be what keeps it waiting, and spinning makes each barrier as long as the spin. A run in which
// several spins were in vain is taken for that: spins are short from there on, and grow again over runs without any.
type spinner struct {
	pauses *atomic.Uint32 // in the run context, where the barriers read it
	most   uint32
	misses atomic.Uint32 // of this run
}

func newSpinner(pauses *atomic.Uint32, oversubscribed bool) *spinner {
	s := &spinner{pauses: pauses, most: barrierSpin}
	if oversubscribed {
		s.most = 0
	}
	pauses.Store(s.most)
	return s
}

// begin starts a run. No other run may be in progress.
func (s *spinner) begin() {
	if now := s.pauses.Load(); s.misses.Swap(0) == 0 && now < s.most {
		s.pauses.Store(min(s.most, 2*now))
	}
}

// missed tells that a worker has spun in vain. Any worker may call it.
func (s *spinner) missed() {
	if s.misses.Add(1) >= crowdedMisses && s.most > crowdedSpin {
		s.pauses.Store(crowdedSpin)
	}
}

// time is how long to spin where no pauses are counted.
func (s *spinner) time() time.Duration { return time.Duration(s.pauses.Load()) * pauseTime }
