package impl

import (
	"math/bits"

	"lathe/internal/arith"
	"lathe/internal/expr"
)

const lineBytes = 64 // of a cache line

// evicted is the time of one step of a reduction that goes into reading lines of the rows' operand again. A line serves several
// steps, but rows whose distance is a multiple of what the sets of L1 span lie in the same few sets: more of them than a set has
// lines put each other out (Lam, Rothberg, Wolf: The Cache Performance and Optimizations of Blocked Algorithms, 1991), and
// each comes from L2 whenever the loop's body is at it anew.
func (c core) evicted(rows, vecs, apart int) float64 {
	span := c.ISA().SetSpan
	if apart < lineBytes || span == 0 {
		return 0
	}
	sets := min(span/arith.GCD(span, apart), span/lineBytes)
	if (rows+sets-1)/sets <= c.L1/span {
		return 0
	}
	steps := max(1, min(ReductionUnroll, longBody/(rows*vecs)))
	return float64(rows*lineBytes) / float64(c.L2Rate*steps)
}

// stay is how many bytes of pieces of memory that lie some bytes apart a cache of some size holds: pieces whose distance has a common divisor with what its sets span lie in some of
// the sets only, beside what streams through these where it is L2.
func (c core) stay(cache, piece, apart int) int {
	span, room := c.ISA().SetSpan, Crowded(cache)
	if span == 0 || apart == 0 {
		return room
	}
	if cache > c.L1 {
		span, room = max(span, 1<<bits.Len(uint(cache/farWays))>>1), Working(cache)
	}
	sets := max(piece, lineBytes) * (span / arith.GCD(span, apart)) // in bytes of one way
	return int(float64(room) * min(1, float64(sets)/float64(span)))
}

// rowsApart is the distance in memory, in bytes, of the rows of the operands that lanes share, where steps of the reduction go
// along a row; 0 where they do not.
func (k *kernel) rowsApart(acc, row, lane string) int {
	v, lanes := k.variable(acc, k.loopOf(acc, row)), k.variable(acc, k.loopOf(acc, lane))
	if v == nil {
		return 0
	}
	reduce, _ := k.reducing(acc, "")
	along := func(a access) bool {
		for _, r := range reduce {
			if n, linear := a.stride(k.variable(acc, r)); linear && n == 1 {
				return true
			}
		}
		return false
	}
	apart := 0
	for _, a := range k.accesses(acc) {
		n, inside := a.at.Coef(v) // in elements, of which a dot product takes several at once
		if a.store || inside || !along(a) || !k.free(a, lanes) {
			continue
		}
		apart = max(apart, int(max(n, -n))*a.buf.DType.Size())
	}
	return apart
}

// free reports whether an access does not depend on a loop.
func (k *kernel) free(a access, v *expr.Var) bool {
	if v == nil {
		return true
	}
	n, linear := a.stride(v)
	return linear && n == 0
}
