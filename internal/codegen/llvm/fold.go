package llvm

import (
	"fmt"
	"math"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

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
	e.foldInto(s, u, v)
}

// foldInto emits X = X op (the lanes of v).
func (e *emitter) foldInto(s *loop.Store, u *expr.Binary, v value) {
	one := e.reduceLanes(u.Op, v)
	x := expr.NewVar("lanes")
	x.Type = v.t
	e.env[x] = one
	e.scalar(func() value {
		e.store(&loop.Store{To: s.To, Index: s.Index, Value: &expr.Binary{Op: u.Op, A: u.A, B: x}})
		return value{}
	})
}

// foldedVectors emits an unrolled loop over a vector loop that reduces all lanes of all vectors to one element: the vectors
// are folded into one, whose lanes are. It reports false, having emitted nothing, for any other loop.
//
//	unroll i in 0..4 { vector j in 0..8 { y[0] = y[0] + x[i, j] } }
func (e *emitter) foldedVectors(f *loop.For, lo, n value) bool {
	inner, ok := f.Body.(*loop.For)
	if !ok || n.i < 2 || e.vec != nil || e.mask != "" || inner.Kind != loop.Vector || expr.Uses(inner.Min, f.Var) {
		return false
	}
	s, ok := inner.Body.(*loop.Store)
	lanes, constant := expr.IntOf(inner.Extent)
	if !ok || !constant || lanes < 2 || !loop.IsReduction(s) {
		return false
	}
	for _, x := range s.Index {
		if expr.Uses(x, f.Var) || expr.Uses(x, inner.Var) {
			return false
		}
	}
	u := s.Value.(*expr.Binary)
	first := e.expr(inner.Min)
	span := e.ranges.Of(inner.Min)
	e.ranges[inner.Var] = arith.Interval{Lo: span.Lo, Hi: span.Hi + lanes - 1}
	var list []value
	whole := e.ranges[f.Var]
	for i := lo.i; i < lo.i+n.i; i++ {
		e.bind(f.Var, constInt(i, types.I64))
		e.ranges[f.Var] = arith.Point(i)
		e.vector(inner.Var, first, int(lanes), func() { list = append(list, e.splat(e.expr(u.B), int(lanes))) })
	}
	e.ranges[f.Var] = whole
	for len(list) > 1 {
		half := (len(list) + 1) / 2
		for i := range len(list) - half {
			list[i] = e.fold(u.Op, list[i], list[half+i])
		}
		list = list[:half]
	}
	e.foldInto(s, u, list[0])
	return true
}

// reduceLanes folds halves until one element is left: the same tree for every width, and NaN as in scalar code.
func (e *emitter) reduceLanes(op expr.Op, v value) value {
	fold := func(a, b value) value { return e.fold(op, a, b) }
	extreme := v.t.IsFloat() && (op == expr.OpMax || op == expr.OpMin)
	if extreme && v.lanes > 2 && e.target != nil && e.target.ISA().Instructions.LosesNaN {
		// Two instructions more at every step would keep NaN: here one test of all lanes.
		pred := "ogt"
		if op == expr.OpMin {
			pred = "olt"
		}
		fold = func(a, b value) value {
			c := value{t: types.Bool, lanes: a.lanes, s: e.temp("fcmp %s %s, %s", pred, a, b.s)}
			return e.choose(c, a, b)
		}
		most := e.halve(v, fold)
		return e.choose(e.anyNaN(v), constFloat(math.NaN(), v.t), most)
	}
	return e.halve(v, fold)
}

// anyNaN reports whether some lane is NaN.
func (e *emitter) anyNaN(v value) value {
	return e.overLanes("or", value{t: types.Bool, lanes: v.lanes, s: e.temp("fcmp uno %s, %s", v, v.s)})
}

// overLanes is whether some lane of a condition holds, by "or", or each, by "and".
func (e *emitter) overLanes(op string, c value) value {
	name := fmt.Sprintf("llvm.vector.reduce.%s.v%di1", op, c.lanes)
	e.declare(fmt.Sprintf("i1 @%s(%s)", name, c.typ()))
	return value{t: types.Bool, s: e.temp("call i1 @%s(%s)", name, c)}
}

// halve folds the halves of a vector until one element is left.
func (e *emitter) halve(v value, fold func(a, b value) value) value {
	for v.lanes > 2 && v.lanes%2 == 0 {
		h := v.lanes / 2
		half := func(from int) value { return e.shuffle(v, h, func(i int) int { return from + i }) }
		a, b := half(0), half(h)
		v = fold(a, b)
	}
	r := e.lane(v, 0)
	for i := 1; i < v.lanes; i++ {
		r = fold(r, e.lane(v, i))
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
	case (op == expr.OpMax || op == expr.OpGreater) && t.IsFloat():
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
