package executor

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleepers are the threads of workers, which may sleep. Linux puts a thread that it wakes on the CPU of who wakes it, where it knows no
// other to be idle, and in a guest of KVM it knows none: a CPU that the guest has halted counts as one that the hypervisor took away. The
// thread then waits there until the caller is done, or for some milliseconds until threads are balanced, and the caller computes alone.
// So while it wakes them the caller keeps them from its CPU.
type sleepers struct {
	threads []atomic.Int32 // by worker; 0 for the caller and before a worker has begun
	masks   []unix.CPUSet  // the CPUs that a thread may run on
	kept    []bool         // from the caller's CPU
}

// mostKept bounds how many threads are kept away, which takes three system calls for each, 3 µs in all: of more workers one matters less.
const mostKept = 3

func newSleepers(workers int) *sleepers {
	n := min(workers, mostKept+1)
	return &sleepers{make([]atomic.Int32, n), make([]unix.CPUSet, n), make([]bool, n)}
}

// began is called by the thread of a worker.
func (s *sleepers) began(worker int) {
	if worker < len(s.threads) {
		s.threads[worker].Store(int32(unix.Gettid()))
	}
}

// keepOff keeps the threads from the caller's CPU, if they may run on another.
func (s *sleepers) keepOff() {
	var cpu uint32
	if _, _, e := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); e != 0 {
		return
	}
	for i := range s.threads {
		thread, mask := int(s.threads[i].Load()), &s.masks[i]
		if thread == 0 || unix.SchedGetaffinity(thread, mask) != nil || !mask.IsSet(int(cpu)) || mask.Count() == 1 {
			continue
		}
		others := *mask
		others.Clear(int(cpu))
		s.kept[i] = unix.SchedSetaffinity(thread, &others) == nil
	}
}

// letGo lets them run where they could before. A thread that has been woken stays where it is. The CPUs are its own from then on: it does
// not follow a cpuset that is widened later.
func (s *sleepers) letGo() {
	for i, kept := range s.kept {
		if kept {
			unix.SchedSetaffinity(int(s.threads[i].Load()), &s.masks[i])
			s.kept[i] = false
		}
	}
}
