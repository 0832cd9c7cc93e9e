package runtime

import (
	"sync/atomic"
	"time"
)

// Pauses that a worker spends between two steps before it sleeps. One takes 10 to 50 ns. Others do in the meantime what a
// sleeper would have done; but in a virtual machine waking takes as long as a step, so that one who sleeps at every step hardly
// ever works. Where others use the CPUs, who is waited for may need the CPU of the one who waits.
const (
	firstSpin = 4000
	leastSpin = 500
	mostSpin  = 8000
)

// A sleep shorter than soon would have been none with a little more patience; in one longer than late somebody had lost a CPU.
const (
	soon = 200 * time.Microsecond
	late = time.Millisecond
)

// slept changes the number of pauses by how long a sleep was. Any worker may call it; 0 pauses stay 0.
func slept(pauses *atomic.Uint32, sleep time.Duration) {
	switch n := pauses.Load(); {
	case sleep < soon:
		pauses.Store(min(2*n, mostSpin))
	case sleep > late && n > leastSpin:
		pauses.Store(max(n/2, leastSpin))
	}
}
