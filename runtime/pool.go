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
	first, last    int
	stop           bool
	started        bool
	exited         sync.WaitGroup

	_        [cacheLine]byte
	job      atomic.Uint32 // counts runs; a change starts the workers
	sleepers atomic.Uint32 // workers that sleep on job
	_        [cacheLine]byte
	pending  atomic.Uint32 // workers still in the current run; zero ends it
	waiting  atomic.Uint32 // 1 while the caller sleeps on pending
}

func newPool(entry, context uintptr, workers int, oversubscribed bool) *pool {
	p := &pool{entry: entry, context: context, workers: workers, spin: poolSpin}
	if oversubscribed {
		p.spin = 0
	}
	return p
}

// run calls the entry point on all workers and returns when the last has returned.
func (p *pool) run(first, last int) {
	if !p.started {
		p.start()
	}
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	p.first, p.last = first, last
	p.post()
	p.call(0)
	p.join()
}

func (p *pool) call(worker int) {
	purego.SyscallN(p.entry, p.context, uintptr(worker), uintptr(p.workers), uintptr(p.first), uintptr(p.last))
}

func (p *pool) start() {
	p.started = true
	seen := p.job.Load()
	p.exited.Add(p.workers - 1)
	for w := 1; w < p.workers; w++ {
		go p.work(w, seen)
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

// work is the life of worker w.
func (p *pool) work(w int, seen uint32) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	defer p.exited.Done()
	for {
		sleepUntil(&p.job, &p.sleepers, p.spin, func(job uint32) bool { return job != seen })
		seen++
		if p.stop {
			return
		}
		p.call(w)
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
// them sees the other.
func sleepUntil(word, sleepers *atomic.Uint32, spin time.Duration, done func(uint32) bool) {
	const looks = 64 // between looks at the clock
	if spin > 0 {
		for start := time.Now(); time.Since(start) < spin; {
			for range looks {
				if done(word.Load()) {
					return
				}
			}
		}
	}
	sleepers.Add(1)
	defer sleepers.Add(^uint32(0))
	for v := word.Load(); !done(v); v = word.Load() {
		futexWait(wordAddress(word), v)
	}
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
