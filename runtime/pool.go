package runtime

import (
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"lathe/internal/bundle"
)

// pool runs the library's entry point on several threads. The caller's thread is worker 0, whose call returns when all is done;
// the others live in crewWork, started by the first run, asleep between runs, gone after close. Nobody waits for them: one that comes
// late finds its work done by others, also when the run is over and another one in progress. They never return to Go between runs:
// Go would keep a processor for each of them and look after it.
type pool struct {
	own     *callee // the package's
	mem     *memory
	workers int
	started bool
	exited  sync.WaitGroup
	pace    pace
	crew    *crew
}

// A callee is a run function and the context to call it with.
type callee struct{ entry, context uintptr }

func newPool(entry uintptr, mem *memory, workers int, oversubscribed bool, steps []bundle.Step) *pool {
	p := &pool{own: &callee{entry, mem.context()}, mem: mem, workers: workers, pace: paceOf(steps), crew: new(crew)}
	if !oversubscribed {
		p.crew.pauses = pausesOf(idlePatience)
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
	base := p.mem.done().Load()
	p.crew.begin(c, first, last, base)
	p.mem.begin(0, base)
	p.pace.run(first, last, func(from, to int) {
		purego.SyscallN(c.entry, c.context, 0, uintptr(p.workers), uintptr(from), uintptr(to))
	})
	p.crew.job.Add(1)
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
