package llvm

import (
	"math/bits"

	"lathe/internal/arith"
	"lathe/internal/loop"
)

// A piece of a vector is so many lanes from one on, a power of two.
type piece struct{ from, lanes int }

// storePieces stores a vector under the current mask as pieces, each by a store of its own, where the lanes are known: a single one, or
// any where the target has no masked store that is as fast. It reports whether it did. Of LLVM 22's masked stores those with one
// constant lane, whose elements are narrowed from 32 bits, write all 32 bits; where it
// has masked stores, LLVM keeps accumulators whose pieces are stored on the stack.
func (e *emitter) storePieces(b *loop.Buffer, raw value, ptr string, align int) bool {
	if e.active == nil {
		return false
	}
	list, size := pieces(e.active), b.DType.Size()
	masked := e.target.ISA().Instructions.MaskedStores
	if one := len(list) == 1 && list[0].lanes == 1; !one && masked != nil && masked(e.target.Has, 8*size) {
		return false
	}
	for _, p := range list {
		at, align := ptr, align
		if p.from > 0 {
			align = arith.GCD(align, p.from*size)
			at = e.temp("getelementptr i8, ptr %s, i64 %d", ptr, p.from*size)
		}
		if p.lanes == 1 {
			lane := e.temp("extractelement %s %s, i64 %d", memType(b.DType, raw.lanes), raw.s, p.from)
			e.effect("store %s %s, ptr %s, align %d", memType(b.DType, 0), lane, at, size)
			continue
		}
		part := e.temp("shufflevector %[1]s %[2]s, %[1]s poison, <%[3]d x i32> <%[4]s>", memType(b.DType, raw.lanes), raw.s, p.lanes,
			indices(p.lanes, func(i int) int { return p.from + i }))
		e.effect("store %s %s, ptr %s, align %d", memType(b.DType, p.lanes), part, at, align)
	}
	return true
}

// pieces are those of the lanes that are active, the longest first of each run.
func pieces(active []bool) (list []piece) {
	for from := 0; from < len(active); {
		n := 0
		for from+n < len(active) && active[from+n] {
			n++
		}
		if n == 0 {
			from++
			continue
		}
		p := piece{from, 1 << (bits.Len(uint(n)) - 1)}
		list = append(list, p)
		from += p.lanes
	}
	return list
}
