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

// pool runs the library's entry point on several threads. The caller's goroutine is worker 0, whose call returns when all is done;
// the others are goroutines on threads of their own, started by the first run, asleep between runs, gone after close. Nobody
// waits for them: one that comes late finds its work done by others, also when the run is over and another one in progress.
//
// The words that synchronise are on Go's heap, so that the race detector sees them.
type pool struct {
	own     *callee // the package's
	mem     *memory
	workers int
	spin    time.Duration
	started bool
	exited  sync.WaitGroup

	_        [cacheLine]byte
	job      atomic.Uint32 // begins and ends of runs: odd while there is one, whose numbers stand below
	sleepers atomic.Uint32 // workers that sleep on job
	stop     atomic.Bool
	callee   atomic.Pointer[callee]
	steps    [2]atomic.Int32 // from, to
	base     atomic.Uint64   // the chunks that were done before
	_        [cacheLine]byte
}

// A callee is a run function and the context to call it with.
type callee struct{ entry, context uintptr }

func newPool(entry uintptr, mem *memory, workers int, oversubscribed bool) *pool {
	p := &pool{own: &callee{entry, mem.context()}, mem: mem, workers: workers, spin: poolSpin}
	if oversubscribed {
		p.spin = 0
	}
	return p
}

// run calls the package's entry point on all workers and returns when the steps are done.
func (p *pool) run(first, last int) { p.runOf(p.own, first, last) }

// runOf is run for a run function whose context has the team of the pool's.
func (p *pool) runOf(c *callee, first, last int) {
	if !p.started {
		p.start()
	}
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	base := p.mem.done().Load()
	p.callee.Store(c)
	p.steps[0].Store(int32(first))
	p.steps[1].Store(int32(last))
	p.base.Store(base)
	p.post()
	p.call(c, 0, first, last, base)
	p.job.Add(1)
}

func (p *pool) call(c *callee, worker, first, last int, base uint64) {
	p.mem.begin(worker, base)
	purego.SyscallN(c.entry, c.context, uintptr(worker), uintptr(p.workers), uintptr(first), uintptr(last))
}

func (p *pool) start() {
	p.started = true
	p.exited.Add(p.workers - 1)
	for w := 1; w < p.workers; w++ {
		go p.live(w)
	}
}

// post begins a run.
func (p *pool) post() {
	p.job.Add(1)
	if p.sleepers.Load() != 0 {
		futexWake(wordAddress(&p.job))
	}
}

// live is the life of worker w. What it read of a run that ended meanwhile may be that of two, and is not used.
func (p *pool) live(w int) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	defer p.exited.Done()
	for seen := uint32(0); ; {
		sleepUntil(&p.job, &p.sleepers, p.spin, func(job uint32) bool { return job%2 == 1 && job != seen })
		if p.stop.Load() {
			return
		}
		seen = p.job.Load()
		c, first, last, base := p.callee.Load(), p.steps[0].Load(), p.steps[1].Load(), p.base.Load()
		if seen%2 == 1 && p.job.Load() == seen {
			p.call(c, w, int(first), int(last), base)
		}
	}
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
	p.stop.Store(true)
	p.post()
	p.exited.Wait()
}
