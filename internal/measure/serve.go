package measure

import (
	"errors"
	"io"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"lathe/internal/child"
)

// A Question is what a measuring process is asked. One of its fields is set.
type Question struct {
	Open     *Host
	All      bool // with Open: all workers, by wall clock
	At       Position
	Load     []Candidate // at At, to whose task they belong
	Out      float64     // with Load: times the host's time, from which on a candidate is out; 0: none is
	Race     []Want      // at At
	Profile  int         // passes
	Networks *Duel
}

// A Duel is a race of two packages.
type Duel struct {
	Packages [2]string
	Workers  int
	Pairs    int
}

// An Answer is what comes back, by the question.
type Answer struct {
	Workers int
	Checks  []Check
	Pairs   []Pairs
	Times   []float64
	Duel    [2][]float64
	Differs string // of a duel: how the outputs differ; "": they do not
}

// Serve answers questions until they end.
func Serve(in io.Reader, out io.Writer) error {
	runtime.LockOSThread() // one thread measures, on one processor
	var r *Runner
	return child.Serve(in, out, func(q Question) (a Answer, err error) {
		switch {
		case q.Open != nil:
			if r, err = Open(*q.Open, q.All); err != nil {
				return a, err
			}
			if !q.All {
				bind()
			}
			a.Workers = r.Workers()
		case q.Networks != nil:
			a.Duel, a.Differs, err = Networks(q.Networks.Packages, q.Networks.Workers, q.Networks.Pairs)
		case r == nil:
			err = errors.New("no network is open")
		case q.Load != nil:
			a.Checks, err = r.enter(q.At, q.Load, q.Out)
		case q.Race != nil:
			a.Pairs, err = r.Race(q.At, q.Race)
		case q.Profile > 0:
			a.Times, err = r.Profile(q.Profile)
		}
		return a, err
	})
}

// enter loads candidates and checks them at a position.
func (r *Runner) enter(at Position, list []Candidate, out float64) ([]Check, error) {
	checks := make([]Check, len(list))
	for i, c := range list {
		if err := r.Load(c); err != nil {
			return nil, err
		}
		var err error
		if checks[i], err = r.Check(at, c.ID, out); err != nil {
			return nil, err
		}
	}
	return checks, nil
}

// bind keeps the thread where it is: caches stay its own. Where the system does not let it, it may move.
func bind() {
	var cpu uint32
	if _, _, e := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); e != 0 {
		return
	}
	var set unix.CPUSet
	set.Set(int(cpu))
	_ = unix.SchedSetaffinity(0, &set)
}
