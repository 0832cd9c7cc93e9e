package executor

import (
	goruntime "runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// pool runs the library's entry point on several threads. The caller's thread is worker 0, whose call returns when all is done;
// the others live in crewWork, started by the first run, asleep between runs, gone after close. Nobody waits for them: one that comes
// late finds its work done by others, also when the run is over and another one in progress. They never return to Go between runs:
// Go would keep a processor for each of them and look after it.
type pool struct {
	own     *callee // the package's
	mem     *memory
	workers int
	calls   stretches // of a whole run
	started bool
	exited  sync.WaitGroup
	rested  time.Time // when a run let Go's scheduler in last
	crew    *crew
	looks   patience
	takes   strength
}

// A callee is a run function and the context to call it with.
type callee struct{ entry, context uintptr }

func newPool(entry uintptr, mem *memory, workers, steps int, oversubscribed bool) *pool {
	p := &pool{own: &callee{entry, mem.context()}, mem: mem, workers: workers, calls: newStretches(steps), crew: &crew{asleep: newSleepers(workers)}, takes: newStrength(workers)}
	if !oversubscribed {
		p.crew.pauses = pausesOf(idlePatience)
		p.looks = patience{long: pausesOf(stepPatience), short: pausesOf(hastyPatience)}
	}
	return p
}

// run calls the package's entry point and returns when the steps are done, a whole run's by as many workers as are the fastest, one stretch
// after another.
func (p *pool) run(first, last int) {
	if first != 0 || last != p.calls.steps() {
		p.runOf(p.own, first, last, p.workers)
		return
	}
	start, workers := time.Now(), p.takes.next()
	p.calls.begin()
	for i := 0; i < len(p.calls.list) && p.mem.status() == 0; {
		begin, last := time.Now(), p.calls.list[i].end
		p.runOf(p.own, first, last, workers)
		if first = last; workers == p.takes.settled() {
			i = p.calls.ran(i, time.Since(begin))
		} else {
			i++
		}
	}
	p.takes.ran(time.Since(start))
}

// runOf is run for a run function whose context has the team of the pool's, by so many of the workers.
func (p *pool) runOf(c *callee, first, last, workers int) {
	if workers == 1 {
		p.rest()
		purego.SyscallN(c.entry, c.context, 0, 1, uintptr(first), uintptr(last))
		return
	}
	if !p.started {
		p.start()
	}
	base := p.mem.done().Load()
	p.crew.begin(c, first, last, workers, base)
	p.mem.begin(0, base)
	p.rest()
	purego.SyscallN(c.entry, c.context, 0, uintptr(workers), uintptr(first), uintptr(last))
	p.crew.job.Add(1)
	p.mem.spin().Store(p.looks.after(p.mem.naps().Load()))
}

// rest shows Go's monitor from time to time that the goroutine is not stuck. A goroutine that was not scheduled for 10 ms loses its
// processor in every call of foreign code, however short that is, and whenever the monitor takes one it wakes every 20 µs for some
// milliseconds: who works on that CPU loses it, and all workers wait.
func (p *pool) rest() {
	if now := time.Now(); now.Sub(p.rested) > longestCall {
		goruntime.Gosched()
		p.rested = now
	}
}

func (p *pool) start() {
	p.started = true
	p.exited.Add(p.workers - 1)
	for w := 1; w < p.workers; w++ {
		go func() {
			defer p.exited.Done()
			goruntime.LockOSThread()
			defer goruntime.UnlockOSThread()
			p.crew.asleep.began(w)
			purego.SyscallN(crewCode().work, uintptr(unsafe.Pointer(p.crew)), uintptr(w), p.mem.base(w))
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
