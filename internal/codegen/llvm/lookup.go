package llvm

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// tableBytes is the number of elements in a table that bytes choose from, and gatheredBytes what a lane of a gather reads.
const (
	tableBytes    = 256
	gatheredBytes = 4
)

// tabulated loads from a table of bytes at places that bytes give, by the instructions that the target has for that. It reports
// false where places may be others, or there are none.
func (e *emitter) tabulated(b *loop.Buffer, x *expr.Load) (value, bool) {
	if e.vec == nil || e.target == nil || b.DType.Size() != 1 || b.DType == types.Bool || b.DType.IsNibble() || b.Scope != loop.Global || len(x.Index) != 1 || b.Shape[0] < tableBytes+gatheredBytes {
		return value{}, false
	}
	how := e.target.Lookup()
	if how == nil || how.Permutes && e.lanes > how.Lanes || !how.Permutes && (e.lanes < how.Lanes || e.lanes&(e.lanes-1) != 0) {
		return value{}, false
	}
	if r := e.ranges.Of(x.Index[0]); r.Lo < 0 || r.Hi >= tableBytes {
		return value{}, false
	}
	at := e.expr(x.Index[0])
	if at.lanes == 0 {
		return value{}, false
	}
	ptr, _ := e.address(b, e.place(e.flat(b, []expr.Expr{expr.Index(0)})))
	if how.Permutes {
		return e.permuted(b.DType, ptr, e.cast(types.U8, at), how.Lanes, how.Name), true
	}
	return e.gathered(b.DType, ptr, e.cast(types.U32, at), how.Lanes, how.Name), true
}

// permuted looks bytes up in four registers of n bytes, 64, of which one instruction chooses from two.
func (e *emitter) permuted(t types.DType, ptr string, at value, n int, name string) value {
	lanes := at.lanes
	wide := e.shuffle(at, n, func(i int) int { return i })
	piece := func(k int) value {
		p := e.temp("getelementptr i8, ptr %s, i64 %d", ptr, k*n)
		return value{t: t, lanes: n, s: e.temp("load <%d x i8>, ptr %s, align 1", n, p)}
	}
	half := func(k int) value { return e.callTo(t, "", name, piece(k), wide, piece(k+1)) }
	upper := value{t: types.Bool, lanes: n, s: e.temp("icmp slt %s, zeroinitializer", wide)}
	low, high := half(0), half(2)
	return e.shuffle(e.choose(upper, high, low), lanes, func(i int) int { return i })
}

// gathered loads 32 bits at the place of each lane and keeps the first byte.
func (e *emitter) gathered(t types.DType, ptr string, at value, n int, name string) value {
	words := fmt.Sprintf("<%d x i32>", n)
	e.declare(fmt.Sprintf("%[1]s @llvm.%[2]s(%[1]s, ptr, %[1]s, %[1]s, i8)", words, name))
	var parts []value
	for from := 0; from < at.lanes; from += n {
		part := e.shuffle(at, n, func(i int) int { return from + i })
		parts = append(parts, value{t: types.U32, lanes: n, s: e.temp("call %[1]s @llvm.%[2]s(%[1]s zeroinitializer, ptr %[3]s, %[4]s, %[1]s splat (i32 -1), i8 1)", words, name, ptr, part)})
	}
	for len(parts) > 1 {
		var pairs []value
		for i := 0; i < len(parts); i += 2 {
			pairs = append(pairs, e.joined(parts[i], parts[i+1]))
		}
		parts = pairs
	}
	return e.cast(t, parts[0])
}

// joined is the lanes of two vectors of the same type one behind the other.
func (e *emitter) joined(a, b value) value {
	n := 2 * a.lanes
	return value{t: a.t, lanes: n, s: e.temp("shufflevector %s, %s, <%d x i32> <%s>", a, b, n, indices(n, func(i int) int { return i }))}
}
