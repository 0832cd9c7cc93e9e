package machine

import (
	"math"

	"lathe/internal/target"
)

// Core measures one core of this machine: the numbers that costs are computed with. What cannot be measured is 0. Numbers are
// rounded, so that equal machines, and this one when others use it too, have equal ones. It takes about three seconds.
func (p *Probe) Core() target.Core {
	c, ticks := p.own(thorough)
	for _, k := range p.kernels {
		if k.streams == 1 {
			p.shared(k, p.Target, ticks, &c)
		}
	}
	c.Streams = p.sideBySide()
	c.Reclaim = p.Reclaim()
	return c
}

// mostStreams are the most that are tried side by side.
const mostStreams = 8

// sideBySide is the least number of streams of which this core reads memory about as fast as of any.
func (p *Probe) sideBySide() int {
	const attempts, about = 8, 0.93
	data, rates, best := touched(memory), map[int]float64{}, 0.0
	for _, k := range p.kernels {
		if k.streams > 0 {
			rates[k.streams] = p.best(k, 1, memory, memory, attempts, data)
			best = max(best, rates[k.streams])
		}
	}
	for s := 1; s <= mostStreams; s *= 2 {
		if rates[s] > about*best {
			return s
		}
	}
	return 0
}

// Own is Core without what cores share, in two thirds of the time.
func (p *Probe) Own() target.Core {
	c, _ := p.own(thorough)
	return c
}

// Glance is Own in a fraction of the time, which other programs disturb more: what it finds otherwise than expected is to be measured by Own.
func (p *Probe) Glance() target.Core {
	c, _ := p.own(glancing)
	return c
}

// Parts of the attempts of a measurement.
const (
	thorough = 1
	glancing = 8
)

// own measures what a core has to itself by one in so many attempts, and its clock in GHz.
func (p *Probe) own(of int) (c target.Core, ticks float64) {
	fused := map[int]float64{} // vectors a cycle, by bits
	var chain float64
	for range 2 { // apart, for what disturbs lasts
		for _, k := range p.kernels {
			switch {
			case k.chain && k.width == 0:
				ticks = max(ticks, p.attempts(k, 1, arithmeticAttempts/of))
			case k.chain:
				chain = max(chain, p.attempts(k, 1, arithmeticAttempts/of))
			case k.float:
				fused[8*k.width] = max(fused[8*k.width], p.attempts(k, 1, arithmeticAttempts/of))
			}
		}
	}
	c.Clock = significant(ticks * 1000)
	c.Latency = int(math.Round(ticks / chain))
	c.Datapath, c.Units = datapath(fused, ticks)
	for _, k := range p.kernels {
		if k.streams == 1 {
			p.caches(k, p.Target, ticks, of, &c)
		}
	}
	return c, ticks
}

// datapath tells how wide the units are, and how many, by the vectors of each width that they take in a nanosecond: where the
// widest go through in two steps there are half as many of them.
func datapath(fused map[int]float64, ticks float64) (width, units int) {
	best := 0.0
	for _, n := range []int{128, 256, 512} {
		if work := fused[n] * float64(n); work > 1.3*best {
			best, width = work, n
		}
	}
	return width, int(math.Round(fused[width] / ticks))
}

// mostRead is what an attempt reads from a cache, at most.
const mostRead = 64 << 20

// caches measures what the core reads from its own caches, in vectors and bytes a cycle.
func (p *Probe) caches(k kernel, t *target.Target, ticks float64, of int, c *target.Core) {
	const attempts = 300 // what a core has to itself is seen when its other thread, which may be a stranger's, rests
	data := touched(powerOfTwo(max(t.L1, t.L2)))
	read := func(size int) float64 {
		size = powerOfTwo(size)
		return p.best(k, 1, max(mostRead, size), size, attempts/of, data[:size]) * float64(k.width)
	}
	c.Loads = int(math.Round(read(t.L1/2) / ticks / float64(min(k.width, c.Datapath/8))))
	c.L2Rate = class(read(t.L2*3/4) / ticks)
}

// shared measures what the core reads from the cache that cores share, in bytes a cycle, and from memory, in MB a second.
func (p *Probe) shared(k kernel, t *target.Target, ticks float64, c *target.Core) {
	const attempts = 24
	data := touched(memory)
	read := func(size int) float64 {
		size = powerOfTwo(size)
		return p.best(k, 1, size, size, attempts, data[:size]) * float64(k.width)
	}
	// What a hypervisor says of L3 is often that of all its guests, so as much is read as a network has in use at a time.
	if size := min(t.L3/2, 8*t.L2, mostRead); size >= 2*t.L2 {
		c.L3Rate = class(read(size) / ticks)
	}
	c.Memory = significant(read(memory) * 1000)
}

// significant rounds to two decimal digits.
func significant(x float64) int {
	if !(x >= 1) {
		return 0
	}
	unit := math.Pow10(max(0, int(math.Floor(math.Log10(x)))-1))
	return int(math.Round(x/unit) * unit)
}

// class rounds to 4, 5, 6 or 7 times a power of two: ratios of about a fifth.
func class(x float64) int {
	if !(x >= 1) {
		return 0
	}
	unit := math.Exp2(max(0, math.Floor(math.Log2(x))-2))
	return int(math.Round(x/unit) * unit)
}
