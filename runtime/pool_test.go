package runtime

import (
	"os"
	goruntime "runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time of this process.
func cpuTime(t *testing.T) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestIdle checks that a module with workers uses no processor between runs. There are not more of them than CPUs:
// otherwise they would not spin at all.
func TestIdle(t *testing.T) {
	m := openFixture(t, WithWorkers(2))
	setFixture(t, m, 0, 0)
	if err := m.Run(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // the workers' own spinning, and the garbage collector's
	const idle = 300 * time.Millisecond
	before := cpuTime(t)
	time.Sleep(idle)
	if used := cpuTime(t) - before; used > idle/10 {
		t.Errorf("%v of processor time in %v of doing nothing", used, idle)
	}
}

func threads(t *testing.T) int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip("no /proc to count threads")
	}
	return len(tasks)
}

// TestCloseEndsWorkers opens, runs and closes many times; goroutines, threads and open files must not pile up.
func TestCloseEndsWorkers(t *testing.T) {
	path := writeFixture(t, nil)
	cycle := func() {
		m, err := Open(path, WithWorkers(4))
		if err != nil {
			t.Fatal(err)
		}
		setFixture(t, m, 0, 0)
		if err := m.RunSteps(0, 3); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	count := func() (goroutines, threadCount, files int) {
		fds, _ := os.ReadDir("/proc/self/fd")
		return goruntime.NumGoroutine(), threads(t), len(fds)
	}
	g0, t0, f0 := count()
	for range 20 {
		cycle()
	}
	g1, t1, f1 := count()
	for wait := 0; g1 > g0 && wait < 1000; wait++ { // a goroutine is counted until it has returned, after its last word to Close
		time.Sleep(time.Millisecond)
		g1, t1, f1 = count()
	}
	if g1 > g0 || t1 > t0+4 || f1 > f0 {
		t.Errorf("after 20 modules: %d goroutines, %d threads, %d files; before %d, %d, %d", g1, t1, f1, g0, t0, f0)
	}
}

// TestNoWorkersBeforeRun checks that opening a package starts no goroutine.
func TestNoWorkersBeforeRun(t *testing.T) {
	before := goruntime.NumGoroutine()
	m := openFixture(t, WithWorkers(8))
	setFixture(t, m, 0, 0)
	if n := goruntime.NumGoroutine(); n > before {
		t.Errorf("%d goroutines after Open, %d before", n, before)
	}
}
