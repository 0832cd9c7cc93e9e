package llvm

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// scalar evaluates what is the same in all lanes.
func (e *emitter) scalar(f func() value) value {
	vec, lanes, mask := e.vec, e.lanes, e.mask
	e.vec, e.lanes, e.mask = nil, 0, ""
	v := f()
	e.vec, e.lanes, e.mask = vec, lanes, mask
	return v
}

// isVector reports whether evaluating x gives a vector: through a variable that was bound to one, or through a load.
func (e *emitter) isVector(x expr.Expr) bool {
	found := false
	expr.Walk(x, func(y expr.Expr) bool {
		if v, ok := y.(*expr.Var); ok && e.env[v].lanes > 0 {
			found = true
		}
		return !found
	})
	return found
}

// perLane evaluates f once per lane, with the vector variable a number and only active lanes executed.
func (e *emitter) perLane(f func() value) value {
	var r value
	rest := "poison"
	if e.mask != "" && slices.Contains(e.active, false) {
		rest = "zeroinitializer"
	}
	e.eachLane(func(i int, active value) {
		v := value{}
		if active.s == "" {
			v = f()
		} else {
			var t types.DType
			v = e.branch(active, func() value { x := f(); t = x.t; return x }, func() value { return zeroOf(t) })
		}
		if r.s == "" {
			r = value{t: v.t, lanes: e.lanesOf, s: rest}
		}
		r.s = e.temp("insertelement %s, %s, i64 %d", r, v, i)
	})
	return r
}

// eachLane calls f for every lane outside of vector mode, but those that are known to be inactive; active is empty where there is no mask, and
// where the lane is known to be active. Variables bound to vectors give their element of the lane where they are read.
func (e *emitter) eachLane(f func(i int, active value)) {
	vec, lanes, mask, base := e.vec, e.lanes, e.mask, e.vecBase
	whole, span := e.env[vec], e.ranges[vec]
	known := mask != "" && slices.Contains(e.active, true)
	for i := range lanes {
		if known && !e.active[i] {
			continue
		}
		var active value
		if mask != "" && !known {
			active = e.lane(value{t: types.Bool, lanes: lanes, s: mask}, i)
		}
		x := e.arith("add", base, constInt(int64(i), types.I64))
		e.env[vec] = x
		if x.known {
			e.ranges[vec] = arith.Point(x.i)
		}
		e.vec, e.lanes, e.mask, e.lanesOf, e.laneAt = nil, 0, "", lanes, i
		f(i, active)
	}
	e.vec, e.lanes, e.mask, e.vecBase = vec, lanes, mask, base
	e.env[vec], e.ranges[vec] = whole, span
}

// scatter stores lane by lane.
func (e *emitter) scatter(s *loop.Store) {
	v := e.splat(e.expr(s.Value), e.lanes)
	x := &expr.Var{Name: "lane", Type: v.t}
	e.env[x] = v
	e.eachLane(func(_ int, active value) {
		one := &loop.Store{To: s.To, Index: s.Index, Value: x}
		if active.s == "" {
			e.store(one)
			return
		}
		e.guardedStmt(active, func() { e.store(one) })
	})
}
