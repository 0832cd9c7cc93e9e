package runtime

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// Operations of the futex system call, with the flag for words that no other process sees.
const (
	futexWaitPrivate = 0 | 128
	futexWakePrivate = 1 | 128
)

// futexWait returns when the word at addr is not seen, when it is woken, or for no reason.
func futexWait(addr uintptr, seen uint32) {
	unix.Syscall6(unix.SYS_FUTEX, addr, futexWaitPrivate, uintptr(seen), 0, 0, 0)
}

// futexWake wakes all threads that wait at addr.
func futexWake(addr uintptr) {
	unix.Syscall6(unix.SYS_FUTEX, addr, futexWakePrivate, math.MaxInt32, 0, 0, 0)
}

// wordAddress is the address of a word on Go's heap, whose objects stay where they are.
func wordAddress(w *atomic.Uint32) uintptr { return uintptr(unsafe.Pointer(w)) }

// callbacks are C functions that workers in the generated code call to sleep and to wake.
type callbacks struct{ wait, wake uintptr }

// teamCallbacks makes them once: the number of callbacks in a process is limited, and these need no module.
var teamCallbacks = sync.OnceValue(func() callbacks {
	return callbacks{
		wait: purego.NewCallback(func(pauses *atomic.Uint32, addr uintptr, seen uint32) {
			from := time.Now()
			futexWait(addr, seen)
			slept(pauses, time.Since(from))
		}),
		wake: purego.NewCallback(func(_, addr uintptr) { futexWake(addr) }),
	}
})
