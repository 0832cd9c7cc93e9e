package runtime

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ebitengine/purego"
)

// poolSpin is how long a thread looks for new work before it sleeps. Waking a sleeper costs 3 to 11 µs; callers that run
// a model in a loop come back within this time, and an idle process pays it once.
const poolSpin = 50 * time.Microsecond

// pool runs the library's entry point on several threads. The caller's goroutine is worker 0; the others are goroutines
// on threads of their own, started by the first run, asleep between runs, gone after close.
//
// The words that synchronise are on Go's heap, so that the race detector sees them.
type pool struct {
	entry, context uintptr
	workers        int
	spin           time.Duration
	spinner        *spinner // how long workers look for each other within a run
	first, last    int
	lap            func(step int) // where steps are timed: called by worker 0 when all have finished the step
	stop           bool
	started        bool
	exited         sync.WaitGroup

	_        [cacheLine]byte
	job      atomic.Uint32 // counts runs; a change starts the workers
	sleepers atomic.Uint32 // workers that sleep on job
	_        [cacheLine]byte
	pending  atomic.Uint32 // workers still in the current run; zero ends it
	waiting  atomic.Uint32 // 1 while the caller sleeps on pending
	_        [cacheLine]byte
	arrived  atomic.Uint32 // workers at the meeting behind a step that is timed
	meetings atomic.Uint32 // counts them; a change lets the workers go on
	asleep   atomic.Uint32 // workers that sleep on meetings
}

func newPool(entry, context uintptr, workers int, oversubscribed bool, s *spinner) *pool {
	p := &pool{entry: entry, context: context, workers: workers, spin: poolSpin, spinner: s}
	if oversubscribed {
		p.spin = 0
	}
	return p
}

// run calls the entry point on all workers and returns when the last has returned. With a lap it is one job all the same,
// in which the workers call the entry point for each step and meet behind it.
func (p *pool) run(first, last int, lap func(step int)) {
	if !p.started {
		p.start()
	}
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	p.first, p.last, p.lap = first, last, lap
	p.post()
	p.work(0)
	p.join()
}

// work is a worker's part of the job.
func (p *pool) work(worker int) {
	if p.lap == nil {
		p.call(worker, p.first, p.last)
		return
	}
	for step := p.first - 1; step < p.last; step++ {
		if step >= p.first {
			p.call(worker, step, step+1)
		}
		p.meet()
		if worker == 0 {
			p.lap(step)
		}
	}
}

func (p *pool) call(worker, first, last int) {
	purego.SyscallN(p.entry, p.context, uintptr(worker), uintptr(p.workers), uintptr(first), uintptr(last))
}

// meet returns when all workers have called it. It spins and sleeps as the barriers of generated code do.
func (p *pool) meet() {
	seen := p.meetings.Load()
	if p.arrived.Add(1) == uint32(p.workers) {
		p.arrived.Store(0)
		p.meetings.Add(1)
		if p.asleep.Load() != 0 {
			futexWake(wordAddress(&p.meetings))
		}
		return
	}
	if sleepUntil(&p.meetings, &p.asleep, p.spinner.time(), func(n uint32) bool { return n != seen }) {
		p.spinner.missed()
	}
}

func (p *pool) start() {
	p.started = true
	seen := p.job.Load()
	p.exited.Add(p.workers - 1)
	for w := 1; w < p.workers; w++ {
		go p.live(w, seen)
	}
}

// post starts one job on all workers.
func (p *pool) post() {
	p.pending.Store(uint32(p.workers - 1))
	p.job.Add(1)
	if p.sleepers.Load() != 0 {
		futexWake(wordAddress(&p.job))
	}
}

// live is the life of worker w.
func (p *pool) live(w int, seen uint32) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	defer p.exited.Done()
	for {
		sleepUntil(&p.job, &p.sleepers, p.spin, func(job uint32) bool { return job != seen })
		seen++
		if p.stop {
			return
		}
		p.work(w)
		if p.pending.Add(^uint32(0)) == 0 && p.waiting.Load() != 0 {
			futexWake(wordAddress(&p.pending))
		}
	}
}

// join waits until no worker is pending.
func (p *pool) join() {
	sleepUntil(&p.pending, &p.waiting, p.spin, func(n uint32) bool { return n == 0 })
}

// sleepUntil returns when done holds for the word: after looking at it for the time spin, it sleeps. While it sleeps it
// counts in sleepers; who changes the word wakes when that is not zero. Both sides write before they read, so one of
// them sees the other. It reports whether it slept.
func sleepUntil(word, sleepers *atomic.Uint32, spin time.Duration, done func(uint32) bool) bool {
	const looks = 64 // between looks at the clock
	if spin > 0 {
		for start := time.Now(); time.Since(start) < spin; {
			for range looks {
				if done(word.Load()) {
					return false
				}
			}
		}
	}
	sleepers.Add(1)
	defer sleepers.Add(^uint32(0))
	for v := word.Load(); !done(v); v = word.Load() {
		futexWait(wordAddress(word), v)
	}
	return true
}

// close ends the workers. No run may be in progress.
func (p *pool) close() {
	if !p.started {
		return
	}
	p.stop = true
	p.post()
	p.exited.Wait()
}
