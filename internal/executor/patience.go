package executor

import (
	"sync"
	"time"

	"github.com/ebitengine/purego"
)

// How long a worker looks before it sleeps: for a step that others finish, and for another run. Who sleeps frees its CPU for others, and
// waking costs 10 to 150 µs where each has a CPU of its own; where a machine wakes threads on the CPU of who wakes them, milliseconds.
// Callers that run a model in a loop come back within the time for another run, and an idle process pays it once.
const (
	stepPatience = time.Millisecond
	idlePatience = 50 * time.Microsecond
)

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
