package executor

import (
	goruntime "runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSleepers: while it is woken a worker may not run on the CPU of who wakes it, unless there is no other, and behind that it may run
// where it could before.
func TestSleepers(t *testing.T) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	if all.Count() < 2 {
		t.Skip("one CPU")
	}
	var cpus []int
	for i := 0; len(cpus) < 2; i++ {
		if all.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	var here, there, both unix.CPUSet
	here.Set(cpus[0])
	there.Set(cpus[1])
	both.Set(cpus[0])
	both.Set(cpus[1])
	if err := unix.SchedSetaffinity(0, &here); err != nil { // so that the CPU does not change meanwhile
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &all)
	masks := []unix.CPUSet{{}, both, here, there, both}
	s := newSleepers(len(masks)) // the last is one too many
	threads := make([]int, len(masks)-1)
	began, end := make(chan error), make(chan struct{})
	for w := 1; w < len(masks); w++ {
		go func() {
			goruntime.LockOSThread() // and never unlocked: the thread goes with its mask
			err := unix.SchedSetaffinity(0, &masks[w])
			s.began(w)
			threads[w-1] = unix.Gettid()
			began <- err
			<-end
		}()
		if err := <-began; err != nil {
			t.Fatal(err)
		}
	}
	defer close(end)
	check := func(when string, want ...unix.CPUSet) {
		t.Helper()
		for i, m := range want {
			var is unix.CPUSet
			if err := unix.SchedGetaffinity(threads[i], &is); err != nil || is != m {
				t.Errorf("worker %d %s: %v, %d CPUs", i+1, when, err, is.Count())
			}
		}
	}
	for range 2 {
		s.keepOff()
		check("while it is woken", there, here, there, both)
		s.letGo()
		check("behind that", masks[1:]...)
	}
}
