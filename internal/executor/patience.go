package executor

import (
	"sync"
	"time"

	"github.com/ebitengine/purego"
)

// How long a worker looks before it sleeps: for a step that others finish, and for another run. Who sleeps frees its CPU for others, and
// waking costs 10 to 150 µs where each has a CPU of its own; within a run, on a machine that wakes threads on the CPU of who wakes them
// (see sleepers), milliseconds.
// Callers that run a model in a loop come back within the time for another run, and an idle process pays it once.
//
// A worker that lost its CPU in the middle of a chunk gets one that is free, but no earlier than who waits for it sleeps. So after a run in
// which somebody waited in vain the next ones have less patience; then one tries whether it is needed no more.
const (
	stepPatience  = time.Millisecond
	hastyPatience = 50 * time.Microsecond
	idlePatience  = 50 * time.Microsecond
	hastyRuns     = 31
)

// A patience says how many pauses workers look for a step in the next run.
type patience struct {
	long, short uint32
	naps        uint32 // what the team's count of them was
	hasty       int    // runs to come of less patience
}

// after is called with the team's count of naps behind a run, and returns the pauses for the next.
func (p *patience) after(naps uint32) uint32 {
	slept := naps != p.naps
	p.naps = naps
	switch {
	case p.hasty > 0:
		p.hasty--
	case slept:
		p.hasty = hastyRuns
	}
	if p.hasty > 0 {
		return p.short
	}
	return p.long
}

// pausesOf is how many pauses of this CPU take so long; one takes 5 to 60 ns.
func pausesOf(t time.Duration) uint32 {
	return uint32(float64(t) / pause())
}

// pause is the time of a pause in nanoseconds: the least of some tries, for others may take the CPU meanwhile.
var pause = sync.OnceValue(func() float64 {
	const tries, pauses = 5, 200
	least := time.Duration(1<<63 - 1)
	for range tries {
		start := time.Now()
		purego.SyscallN(crewCode().pauses, pauses)
		least = min(least, time.Since(start))
	}
	return max(float64(least)/pauses, 1)
})
