package impl

import "lathe/internal/target"

// A core is a core of the target and the one model of costs: cycles of multiply-adds, loads and bytes from every level of
// memory, by the target's facts. What is no fact of a CPU stands in steering.go. A vector is one
// operation whatever the datapath takes of it at once, see RATIONALE.
type core struct{ *target.Target }

// Core is what algorithms in folders of their own compute costs with.
type Core = core

// lanes is the number of elements of some bytes in a vector register.
func (c core) lanes(size int) int { return c.Lanes(8 * size) }

// A supply is how the operands of products come to the units.
type supply struct {
	loads float64 // share of the core's loads that are served
	line  float64 // cycles of a step of the reduction for each cache line it reads
}

var (
	asTheyLie = supply{loads: servedLoads, line: lineCycles}
	packed    = supply{loads: 1} // in the order of reading
)

// Fits reports whether so many accumulators, rows of vectors, fit the registers with the operands of a product, or of a dot product of so
// many, 0: none.
func (c core) Fits(rows, vecs, dot int) bool { return c.fits(rows, vecs, c.registers(dot), true) }

func (c core) fits(rows, vecs, regs int, broadcast bool) bool {
	if broadcast && vecs == 1 && c.VectorRegs < manyRegisters {
		regs -= c.ISA().SpareSingle
	}
	return rows <= mostRows && rows*vecs+vecs+1 <= regs
}

// Reusing is a cost less what so many accumulators save by reusing what they load: of equal costs, that of larger tiles.
func (c core) Reusing(cost float64, accumulators int) float64 {
	return cost * (1 - reuse*float64(accumulators)/float64(c.registers(0)))
}

// PackedStep is the time of a step whose operands both lie in the order of reading.
func (c core) PackedStep(rows, vecs int) float64 { return c.step(rows, vecs, packed) }

// step is the time of one step of the reduction of rows times vecs accumulators. The longest counts: the multiply-adds,
// their latency, the loads; cache lines come on top.
func (c core) step(rows, vecs int, s supply) float64 {
	if rows == 0 {
		return 0
	}
	products, loads := float64(rows*vecs)/float64(c.Units), float64(rows+vecs)/(s.loads*float64(c.Loads))
	return max(products, latencySlack*float64(c.Latency), loads) + s.line*(float64(vecs)+float64(rows)/16)
}

// fold is the time of one step of a reduction into so many vectors, each by an operand of its own.
func (c core) fold(vecs int) float64 {
	n := float64(vecs)
	return max(n/float64(c.Units), latencySlack*float64(c.Latency), n/(asTheyLie.loads*float64(c.Loads)))
}

// registers is the number of vector registers that a tile may count on where sums add dot products of so many, 0: none. Scalars by the
// four are all counted.
func (c core) registers(dot int) int {
	n := c.VectorRegs
	if n >= 16 {
		n -= c.ISA().Spare
		if !c.HasFMA {
			n -= c.ISA().SpareUnfused
		}
	}
	switch {
	case dot == DotWidth && !c.HasDot:
		n -= dotSpare
	case dot > 0 && dot < DotWidth:
		n -= pairSpare
	}
	return n
}

// loadsFirst reports whether the loads of a loop's body all happen before its arithmetic: several steps at once would spill then.
func (c core) loadsFirst(dot bool) bool {
	return c.ISA().LoadsFirst || c.ISA().DotLoadsFirst && dot
}

// Flops is the time of multiply-adds of float32, counted as two each.
func (c core) Flops(n float64) float64 { return n / (c.Speed().Float32 * 1000 / float64(c.Clock)) }

// instructions is the time of so many instructions on vectors, of elements of any size, of which as many begin in a cycle as multiply-adds.
func (c core) instructions(n int) float64 { return c.Flops(float64(2 * n * c.lanes(4))) }

// Arranged is the time to arrange so many elements anew when the network runs.
func (c core) Arranged(elements float64) float64 { return packCycles * elements }

// Starts is the time of so many kernels besides their work.
func (c core) Starts(kernels int) float64 { return kernelStart * float64(kernels) }

// TileRows is how many of n rows of a product, of so many vectors each, a tile has by default.
func (c core) TileRows(n, vecs int) int {
	list, best := c.tiles(output{lines: 1, rows: n, vecs: vecs}, c.registers(0), vecs, true, reuse)
	return list[best].Rows
}

// meeting is the time that workers take to meet.
func (c core) meeting() float64 { return c.Speed().Meet * float64(c.Clock) / 1000 }

// FromL2 is the time to read what the core's L2 holds.
func (c core) FromL2(bytes float64) float64 { return bytes / float64(c.L2Rate) }

// Shared is the time to read what another core wrote.
func (c core) Shared(bytes float64) float64 { return bytes / float64(c.L3Rate) }

// Taken is the time that bytes cost which a core reads and another wrote: to read them, and for the other to write there again, since the copies
// that were read have to go before.
func (c core) Taken(bytes float64) float64 {
	return c.Shared(bytes) + bytes*float64(c.Clock)/float64(c.Reclaim)
}

// Fetched is the time to read from memory, as weights of large networks are.
func (c core) Fetched(bytes float64) float64 { return bytes * float64(c.Clock) / float64(c.Memory) }

// Again is the time to read so many bytes of data of a size that L2 does not hold: from the core's part of L3 where that does, and from memory elsewhere.
func (c core) Again(bytes float64, size int) float64 {
	if size > IdleShares*c.L3 {
		return c.Fetched(bytes)
	}
	return c.Shared(bytes)
}

// Written is the time to write data for another kernel: a line is read before, and takes its way back later.
func (c core) Written(bytes float64) float64 { return 2 * c.Shared(bytes) }
