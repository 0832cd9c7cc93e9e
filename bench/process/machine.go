package process

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Watcher compares what this machine's CPUs do with what this process and its ended children do.
type Watcher struct {
	start     time.Time
	busy, own time.Duration
}

// Watch starts watching.
func Watch() (*Watcher, error) {
	busy, err := machineBusy()
	return &Watcher{time.Now(), busy, ownTime()}, err
}

// Share is the part of all CPUs' time that others have used since Watch, from 0 to 1.
func (w *Watcher) Share() (float64, error) {
	busy, err := machineBusy()
	if err != nil {
		return 0, err
	}
	all := time.Since(w.start) * time.Duration(runtime.NumCPU())
	return max(0, float64((busy-w.busy)-(ownTime()-w.own))/float64(all)), nil
}

// ownTime is CPUTime with ended children.
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		panic(err) // the arguments are constants
	}
	return CPUTime() + time.Duration(u.Utime.Nano()+u.Stime.Nano())
}

// Fields of the first line of /proc/stat that are work, in ticks: user, nice, system, irq, softirq, steal.
var workFields = []int{1, 2, 3, 6, 7, 8}

const tick = 10 * time.Millisecond // USER_HZ is 100 on every port of linux we know

// machineBusy is the time all CPUs have worked since the machine started.
func machineBusy() (time.Duration, error) {
	const file = "/proc/stat"
	b, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	f := strings.Fields(line)
	var busy time.Duration
	for _, i := range workFields {
		if i >= len(f) {
			return 0, fmt.Errorf("%s starts with %q: too few fields", file, line)
		}
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		busy += time.Duration(n) * tick
	}
	return busy, nil
}
