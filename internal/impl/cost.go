package impl

import "lathe/internal/target"

// A core is a core of the target and the one model of costs: cycles of multiply-adds, loads and bytes from every level of
// memory, by the target's facts. What is no fact of a CPU but a way to steer stands here by name, with its reason. A vector is one
// operation whatever the datapath takes of it at once, see RATIONALE.
type core struct{ *target.Target }

// Core is what algorithms in folders of their own compute costs with.
type Core = core

// lanes is the number of elements of some bytes in a vector register.
func (c core) lanes(size int) int { return c.Lanes(8 * size) }

// Steering of tiles.
const (
	latencySlack = 1.1   // of the latency, that a step takes at least: as many accumulators as hide it reach 92 % of the peak
	mostRows     = 28    // of a tile of one vector: more of them save no load, and their code is as long
	tailCost     = 1.01  // times the cost of tiles with a tail: it is code of its own
	reuse        = 0.001 // share of the cost that a tile of all registers saves by reusing what it loads: decides between equals
	dotReuse     = 0.05  // the same of bytes, whose panels stay in L2: more rows read them fewer times, which is worth a tail
	dotSpare     = 4     // registers for even and odd bytes of both operands, without an instruction for dot products

	pieceCycles = 8.0 // of a step that reads a piece of memory which does not follow the last one: prefetching starts anew

	ReductionUnroll = 4  // steps of a reduction between two tests of its loop
	longBody        = 64 // products of a loop's body, above which more steps gain nothing: they take registers and time to compile
)

// A supply is how the operands of products come to the units.
type supply struct {
	loads float64 // share of the core's loads that are served
	line  float64 // cycles of a step of the reduction for each cache line it reads
}

var (
	asTheyLie = supply{loads: 0.9, line: 0.2} // some loads conflict, and the way from L2 is not hidden altogether
	packed    = supply{loads: 1}              // in the order of reading
)

// Fits reports whether so many accumulators, rows of vectors, fit the registers with the operands of a product.
func (c core) Fits(rows, vecs int) bool {
	return rows <= mostRows && rows*vecs+vecs+1 <= c.registers(false)
}

// Reusing is a cost less what so many accumulators save by reusing what they load: of equal costs, that of larger tiles.
func (c core) Reusing(cost float64, accumulators int) float64 {
	return cost * (1 - reuse*float64(accumulators)/float64(c.registers(false)))
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

// registers is the number of vector registers that a tile may count on. Scalars by the four are all counted.
func (c core) registers(dot bool) int {
	n := c.VectorRegs
	if n >= 16 {
		n -= c.ISA().Spare
		if !c.HasFMA {
			n -= c.ISA().SpareUnfused
		}
	}
	if dot && !c.HasDot {
		n -= dotSpare
	}
	return n
}

// loadsFirst reports whether the loads of a loop's body all happen before its arithmetic: several steps at once would spill then.
func (c core) loadsFirst(dot bool) bool {
	return c.ISA().LoadsFirst || c.ISA().DotLoadsFirst && dot
}

// Steering of caches. Half of one is for what is worked on; what streams through takes the rest.
const (
	Pieces       = 12     // of work, from which on any small number of workers is kept about evenly busy
	ParallelWork = 20_000 // scalar operations from which on a second worker pays for meeting it
)

// Working is the part of a cache that data may fill that are worked on repeatedly.
func Working(cache int) int { return cache / 2 }

// crowded is the part that they may fill beside little that streams through, or that is counted apart.
func crowded(cache int) int { return cache * 7 / 8 }

// directShare is the share of the units' multiply-adds that convolutions reach.
const directShare = 0.88

// chunkStart is the cycles of a chunk besides its work: a claim, whose line may be another core's, loops that begin anew, and what
// the prefetcher does not know of yet.
const chunkStart = 6000.0

// Steering of transposed convolutions.
const (
	phaseStart      = 2000.0 // cycles of a kernel besides its work: they count where phases become many small ones
	alongLinesShare = 0.75   // of what vectors of channels reach, for those of pixels: their loads are not aligned
)

// Flops is the time of multiply-adds of float32, counted as two each.
func (c core) Flops(n float64) float64 { return n / (c.Speed().Float32 * 1000 / float64(c.Clock)) }

// Shared is the time to read what another core wrote.
func (c core) Shared(bytes float64) float64 { return bytes / float64(c.L3Rate) }

// Fetched is the time to read from memory, as weights of large networks are.
func (c core) Fetched(bytes float64) float64 { return bytes * float64(c.Clock) / float64(c.Memory) }

// Written is the time to write data for another kernel: a line is read before, and takes its way back later.
func (c core) Written(bytes float64) float64 { return 2 * c.Shared(bytes) }
