package llvm

import (
	"fmt"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// transposed emits an unrolled loop over a vector loop that reads memory along the lanes and writes it along the unrolled
// axis, as vectors on both sides: a square of elements is transposed in registers, of which some are padding where one side is no
// power of two, or shorter than the other. It reports false, having emitted nothing, for any other loop.
//
//	unroll i in 0..8 { vector j in 0..5 { y[j, i] = f(x[i, j]) } }
func (e *emitter) transposed(f *loop.For, lo, n value) bool {
	inner, ok := f.Body.(*loop.For)
	if !ok || e.vec != nil || e.mask != "" || inner.Kind != loop.Vector {
		return false
	}
	s, ok := inner.Body.(*loop.Store)
	lanes, constant := expr.IntOf(inner.Extent)
	if !ok || !constant || max(lanes, n.i) < 4 || max(lanes, n.i) > 2*min(lanes, n.i) || s.To.Scope == loop.Reg || s.To.DType == types.Bool {
		return false
	}
	side := 4
	for side < int(max(lanes, n.i)) {
		side *= 2
	}
	delete(e.env, f.Var)
	delete(e.env, inner.Var)
	span := e.ranges.Of(inner.Min)
	e.ranges[inner.Var] = arith.Interval{Lo: span.Lo, Hi: span.Hi + lanes - 1}
	at := e.flat(s.To, s.Index)
	along, mixed := at.Coef(f.Var)
	across, mixed2 := at.Coef(inner.Var)
	if along != 1 || across == 0 || across == 1 || mixed || mixed2 || !e.readsAlong(s, f.Var, inner.Var) {
		return false
	}
	first := e.expr(inner.Min)
	rows := make([]value, side)
	whole := e.ranges[f.Var]
	for i := range rows {
		if i >= int(n.i) {
			rows[i] = rows[i-1]
			continue
		}
		e.bind(f.Var, constInt(lo.i+int64(i), types.I64))
		e.ranges[f.Var] = arith.Point(lo.i + int64(i))
		e.vector(inner.Var, first, int(lanes), func() { rows[i] = e.resized(e.splat(e.expr(s.Value), int(lanes)), side) })
	}
	e.ranges[f.Var] = whole
	for j, column := range e.columns(rows)[:lanes] {
		column = e.resized(column, int(n.i))
		e.bind(inner.Var, e.arith("add", first, constInt(int64(j), types.I64)))
		x := &expr.Var{Name: "column", Type: column.t}
		e.env[x] = column
		e.vector(f.Var, lo, int(n.i), func() { e.store(&loop.Store{To: s.To, Index: s.Index, Value: x}) })
	}
	return true
}

// readsAlong reports whether every load of a store's value is contiguous in v or independent of it, one is contiguous,
// and none is of what is stored or depends on the other variable in any other way than by rows.
func (e *emitter) readsAlong(s *loop.Store, row, v *expr.Var) bool {
	ok, some := true, false
	expr.Loads(s.Value, func(l *expr.Load) {
		b := l.From.(*loop.Buffer)
		if b == s.To || b.Scope == loop.Reg {
			ok = false
			return
		}
		at := e.flat(b, l.Index)
		c, mixed := at.Coef(v)
		ok = ok && !mixed && (c == 0 || c == 1)
		some = some || c == 1
	})
	return ok && some
}

// vector emits body for all lanes of a vector loop over v from lo on.
func (e *emitter) vector(v *expr.Var, lo value, n int, body func()) {
	e.vec, e.lanes = v, n
	lanes := make([]string, n)
	for i := range lanes {
		lanes[i] = fmt.Sprintf("i64 %d", i)
	}
	iota := value{t: types.I64, lanes: n, s: "<" + strings.Join(lanes, ", ") + ">"}
	e.bind(v, e.arith("add", iota, e.splat(lo, n)))
	e.vecBase = lo
	body()
	e.vec, e.lanes = nil, 0
}

// resized is a vector of n lanes: the first of v, or these and its last repeated.
func (e *emitter) resized(v value, n int) value {
	if v.lanes == n {
		return v
	}
	return value{t: v.t, lanes: n, s: e.temp("shufflevector %s, %s, <%d x i32> <%s>", v, v, n, indices(n, func(i int) int { return min(i, v.lanes-1) }))}
}

// columns transposes n vectors of n lanes. Elements move within parts of 128 bits first, which every instruction set with vectors does
// by one shuffle, and these parts move as they are in the end: where vectors are longer, a shuffle across all lanes takes several
// instructions, or an index in a register.
func (e *emitter) columns(rows []value) []value {
	n := len(rows)
	part := min(n, partBits/(8*rows[0].t.Size()))
	for step := 1; step < part; step *= 2 {
		next := make([]value, n)
		for first := 0; first < n; first += part {
			for i := range part / 2 {
				a, b := rows[first+i], rows[first+i+part/2]
				next[first+2*i] = e.interleave(a, b, part, 0)
				next[first+2*i+1] = e.interleave(a, b, part, part/2)
			}
		}
		rows = next
	}
	// Parts of columns c, c+part, ... lie in rows c, c+part, ...: squares of parts are left.
	for step := part; step < n; step *= 2 {
		next := make([]value, n)
		for c := range part {
			for i := range n / part / 2 {
				a, b := rows[2*i*part+c], rows[(2*i+1)*part+c]
				next[i*part+c] = e.partsOf(a, b, part, 0)
				next[(i+n/part/2)*part+c] = e.partsOf(a, b, part, 1)
			}
		}
		rows = next
	}
	return rows
}

// partBits is the size of the part of a vector within which shuffles of all instruction sets move elements.
const partBits = 128

// interleave takes lanes from, from+1, ... of each part of a and b in turn.
func (e *emitter) interleave(a, b value, part, from int) value {
	return e.lanesOfBoth(a, b, func(i int) int { return i/part*part + from + i%part/2 + i%2*a.lanes })
}

// partsOf takes every second part of a, and of b behind it, from the first or the second on.
func (e *emitter) partsOf(a, b value, part, first int) value {
	return e.lanesOfBoth(a, b, func(i int) int { return (2*(i/part)+first)*part + i%part })
}

// lanesOfBoth takes the lanes that f gives, of which those of b are counted behind those of a.
func (e *emitter) lanesOfBoth(a, b value, f func(i int) int) value {
	return value{t: a.t, lanes: a.lanes, s: e.temp("shufflevector %s, %s, <%d x i32> <%s>", a, b, a.lanes, indices(a.lanes, f))}
}
