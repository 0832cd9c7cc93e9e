package llvm

import (
	"fmt"

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
	e.eachLane(func(i int, active value) {
		v := value{}
		if active.s == "" {
			v = f()
		} else {
			var t types.DType
			v = e.branch(active, func() value { x := f(); t = x.t; return x }, func() value { return zeroOf(t) })
		}
		if r.s == "" {
			r = value{t: v.t, lanes: e.lanesOf, s: "poison"}
		}
		r.s = e.temp("insertelement %s, %s, i64 %d", r, v, i)
	})
	return r
}

// eachLane calls f for every lane outside of vector mode; active is empty where there is no mask. Variables bound to
// vectors give their element of the lane where they are read.
func (e *emitter) eachLane(f func(i int, active value)) {
	vec, lanes, mask, base := e.vec, e.lanes, e.mask, e.vecBase
	whole, span := e.env[vec], e.ranges[vec]
	for i := range lanes {
		var active value
		if mask != "" {
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

// horizontal emits a reduction over the lanes into one element: X = X op v.
func (e *emitter) horizontal(s *loop.Store) {
	u, ok := s.Value.(*expr.Binary)
	if !ok || !loop.IsReduction(s) {
		fail("store to one element of %s from all lanes is no reduction", s.To.Name)
	}
	v := e.splat(e.expr(u.B), e.lanes)
	if e.mask != "" {
		v = e.choose(value{t: types.Bool, lanes: e.lanes, s: e.mask}, v, e.splat(e.identity(u.Op, v.t), e.lanes))
	}
	one := e.reduceLanes(u.Op, v)
	x := expr.NewVar("lanes")
	x.Type = v.t
	e.env[x] = one
	e.scalar(func() value {
		e.store(&loop.Store{To: s.To, Index: s.Index, Value: &expr.Binary{Op: u.Op, A: u.A, B: x}})
		return value{}
	})
}

func (e *emitter) identity(op expr.Op, t types.DType) value {
	lo, hi := int64(0), int64(0)
	if !t.IsFloat() {
		lo, hi = t.IntRange()
	}
	switch {
	case op == expr.OpAdd || op == expr.OpOr:
		return zeroOf(t)
	case op == expr.OpMul && t.IsFloat():
		return constFloat(1, t)
	case op == expr.OpMul || op == expr.OpAnd && t == types.Bool:
		return constInt(1, t)
	case op == expr.OpAnd || op == expr.OpMin && t == types.U64:
		return constInt(-1, t) // all bits
	case op == expr.OpMax && t.IsFloat():
		return constFloat(-posInf, t)
	case op == expr.OpMin && t.IsFloat():
		return constFloat(posInf, t)
	case op == expr.OpMax:
		return constInt(lo, t)
	case op == expr.OpMin:
		return constInt(hi, t)
	}
	fail("no reduction by %s", op)
	return value{}
}

// reduceLanes folds halves until one element is left: the same tree for every width, and NaN as in scalar code.
func (e *emitter) reduceLanes(op expr.Op, v value) value {
	for v.lanes > 1 && v.lanes%2 == 0 {
		h := v.lanes / 2
		idx := func(from int) string {
			s := ""
			for i := range h {
				if i > 0 {
					s += ", "
				}
				s += fmt.Sprintf("i32 %d", from+i)
			}
			return s
		}
		half := func(from int) value {
			return value{t: v.t, lanes: h, s: e.temp("shufflevector %s, %s poison, <%d x i32> <%s>", v, v.typ(), h, idx(from))}
		}
		a, b := half(0), half(h)
		v = e.fold(op, a, b)
	}
	r := e.lane(v, 0)
	for i := 1; i < v.lanes; i++ {
		r = e.fold(op, r, e.lane(v, i))
	}
	return r
}

func (e *emitter) fold(op expr.Op, a, b value) value {
	x, y := &expr.Var{Name: "a", Type: a.t}, &expr.Var{Name: "b", Type: a.t}
	if a.t == types.Bool {
		return e.arith(map[expr.Op]string{expr.OpAnd: "and", expr.OpOr: "or"}[op], a, b)
	}
	return e.binary(&expr.Binary{Op: op, A: x, B: y}, a, b)
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
