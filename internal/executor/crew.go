package executor

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A crew is the workers other than the caller, as crewWork sees it: the offsets of the fields are written in assembly. The numbers of a
// run stand behind a word that is odd while there is one; what a worker read of a run that ended meanwhile may be that of two, and is not
// used. A crew is on Go's heap, whose objects stay where they are.
type crew struct {
	job            atomic.Uint32 // 0: begins and ends of runs
	sleepers       atomic.Uint32 // 4: workers that sleep on job
	stop           atomic.Uint32 // 8: the next run is the end
	pauses         uint32        // 12: that a worker looks for a run before it sleeps
	first, last    atomic.Int32  // 16, 20: steps
	base           atomic.Uint64 // 24: the chunks that were done before
	entry, context atomic.Uint64 // 32, 40: the run function and its argument
	workers        atomic.Int32  // 48: who take part, from the caller on
	_              [cacheLine]byte

	asleep *sleepers
}

// begin begins a run of so many workers. The others are woken too, look for another run and sleep.
func (c *crew) begin(f *callee, first, last, workers int, base uint64) {
	c.first.Store(int32(first))
	c.last.Store(int32(last))
	c.base.Store(base)
	c.entry.Store(uint64(f.entry))
	c.context.Store(uint64(f.context))
	c.workers.Store(int32(workers))
	c.post()
}

// post makes the word odd, or even, and wakes who sleeps on it. Who sleeps counts itself in sleepers before it looks at the word, and
// post changes the word before it looks at sleepers: one of them sees the other.
func (c *crew) post() {
	c.job.Add(1)
	if c.sleepers.Load() != 0 {
		if c.stop.Load() == 0 { // threads that end are gone before they could be let go
			c.asleep.keepOff()
			defer c.asleep.letGo()
		}
		unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&c.job)), futexWakePrivate, 1<<31-1, 0, 0, 0)
	}
}

// Operations of the futex system call, with the flag for words that no other process sees.
const futexWakePrivate = 1 | 128

// crewAddresses returns the addresses of functions that follow C's conventions and never enter Go:
//
//	work    the life of a worker: waits for runs and calls their entry, until crew.stop. Before a call it sets what base points to, its
//	        count of the chunks behind it
//	wait    returns when a word is not what was seen, when it is woken, or for no reason
//	wake    wakes all that wait on a word
//	pauses  spends so many pauses
func crewAddresses() (work, wait, wake, pauses uintptr)

type crewFunctions struct{ work, wait, wake, pauses uintptr }

var crewCode = sync.OnceValue(func() crewFunctions {
	work, wait, wake, pauses := crewAddresses()
	return crewFunctions{work, wait, wake, pauses}
})
