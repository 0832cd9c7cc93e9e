package machine

import (
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"time"
)

// Reclaim is how fast one core writes what another has just read, in MB/s: the other's copy of each line has to go before. It is
// some bytes a cycle where the two have a cache in common, a fraction of that where they have none, and 0 where there is no other.
func (p *Probe) Reclaim() int {
	const size, rounds, line = 256 << 10, 200, 64
	if goruntime.GOMAXPROCS(0) < 2 {
		return 0
	}
	data := make([]uint64, size/8)
	var turn atomic.Int64 // odd: the reader's
	wait := func(whose int64) bool {
		for n := 0; turn.Load() != whose; n++ {
			if n%1024 == 0 && p.ctx.Err() != nil {
				return false
			}
		}
		return true
	}
	sum := make(chan uint64)
	go func() {
		goruntime.LockOSThread()
		defer goruntime.UnlockOSThread()
		var total uint64
		for r := int64(0); r < rounds && wait(2*r+1); r++ {
			for i := 0; i < len(data); i += line / 8 {
				total += data[i]
			}
			turn.Store(2*r + 2)
		}
		sum <- total
	}()
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	var times []time.Duration
	for r := int64(0); r < rounds && wait(2*r); r++ {
		from := time.Now()
		for i := 0; i < len(data); i += line / 8 {
			data[i] = uint64(r)
		}
		times = append(times, time.Since(from))
		turn.Store(2*r + 1)
	}
	<-sum
	if len(times) < rounds {
		return 0
	}
	slices.Sort(times) // the least are of rounds in which both were on one core
	return significant(size * 1000 / float64(times[rounds/2].Nanoseconds()))
}
