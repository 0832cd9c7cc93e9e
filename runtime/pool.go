package runtime

import (
	goruntime "runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/bundle"
)

// longCall is how long a thread may be in the library at a time. Go's monitor wakes every 20 µs for some milliseconds whenever it took
// the processor of a thread that was in foreign code for 10 ms, and then whoever works on that CPU loses it.
const longCall = 4 * time.Millisecond

// pool runs the library's entry point on several threads. The caller's thread is worker 0, whose call returns when all is done;
// the others live in crewWork, started by the first run, asleep between runs, gone after close. Nobody waits for them: one that comes
// late finds its work done by others, also when the run is over and another one in progress. They never return to Go between runs:
// Go would keep a processor for each of them and look after it.
type pool struct {
	own     *callee // the package's
	mem     *memory
	workers int
	whole   bool // the package's steps depend on data, of which the library keeps count within a call
	started bool
	exited  sync.WaitGroup
	step    time.Duration // that a step took in the last run, in the mean
	rested  time.Time     // when a run let Go's scheduler in last
	crew    *crew
}

// A callee is a run function and the context to call it with.
type callee struct{ entry, context uintptr }

func newPool(entry uintptr, mem *memory, workers int, oversubscribed bool, steps []bundle.Step) *pool {
	p := &pool{own: &callee{entry, mem.context()}, mem: mem, workers: workers, crew: new(crew)}
	p.whole = slices.ContainsFunc(steps, func(s bundle.Step) bool { return s.Body != nil })
	if !oversubscribed {
		p.crew.pauses = pausesOf(idlePatience)
	}
	return p
}

// run calls the package's entry point on all workers and returns when the steps are done.
func (p *pool) run(first, last int) { p.runOf(p.own, first, last) }

// runOf is run for a run function whose context has the team of the pool's. A long run is several calls of worker 0.
func (p *pool) runOf(c *callee, first, last int) {
	if !p.started {
		p.start()
	}
	base := p.mem.done().Load()
	p.crew.begin(c, first, last, base)
	p.mem.begin(0, base)
	start := time.Now()
	if start.Sub(p.rested) > longCall {
		p.rest()
	}
	n := last - first
	if !p.whole && p.step > 0 {
		n = min(n, 1+int(longCall/p.step))
	}
	for from := first; from < last; from += n {
		if from > first && time.Since(p.rested) > longCall {
			p.rest()
		}
		purego.SyscallN(c.entry, c.context, 0, uintptr(p.workers), uintptr(from), uintptr(min(from+n, last)))
	}
	p.crew.job.Add(1)
	if first < last {
		p.step = time.Since(start) / time.Duration(last-first)
	}
}

// rest tells Go's monitor that this goroutine is not stuck.
func (p *pool) rest() {
	goruntime.Gosched()
	p.rested = time.Now()
}

func (p *pool) start() {
	p.started = true
	p.exited.Add(p.workers - 1)
	for w := 1; w < p.workers; w++ {
		go func() {
			defer p.exited.Done()
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			purego.SyscallN(crewCode().work, uintptr(unsafe.Pointer(p.crew)), uintptr(w), uintptr(p.workers), p.mem.base(w))
		}()
	}
}

// close ends the workers. No run may be in progress.
func (p *pool) close() {
	if !p.started {
		return
	}
	p.crew.stop.Store(1)
	p.crew.post()
	p.exited.Wait()
}
