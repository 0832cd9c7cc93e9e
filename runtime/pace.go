package runtime

import (
	goruntime "runtime"
	"slices"
	"time"

	"lathe/internal/bundle"
)

// longCall is how long a thread may be in the library at a time. Go's monitor wakes every 20 µs for some milliseconds whenever it took
// the processor of a thread that was in foreign code for 10 ms, and then whoever
// works on that CPU loses it: all workers wait. (A worker alone has nobody to wait for, and gains nothing.)
const longCall = 4 * time.Millisecond

// A pace divides runs into calls of the library that are not long, by what a step took in the last run in the mean.
type pace struct {
	whole  bool // the steps depend on data, of which the library keeps count within a call
	step   time.Duration
	rested time.Time // when a run let Go's scheduler in last
}

func paceOf(steps []bundle.Step) pace {
	return pace{whole: slices.ContainsFunc(steps, func(s bundle.Step) bool { return s.Body != nil })}
}

// run runs the steps [first, last) by calls in order.
func (p *pace) run(first, last int, call func(from, to int)) {
	start, n := time.Now(), last-first
	if !p.whole && p.step > 0 {
		n = min(n, 1+int(longCall/p.step))
	}
	for from := first; from < last; from += n {
		// Go's monitor takes it that a goroutine is stuck which was not scheduled for long, however short its calls.
		if now := time.Now(); now.Sub(p.rested) > longCall {
			goruntime.Gosched()
			p.rested = now
		}
		call(from, min(from+n, last))
	}
	if first < last {
		p.step = time.Since(start) / time.Duration(last-first)
	}
}
