package llvm

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// expr emits the evaluation of x.
func (e *emitter) expr(x expr.Expr) value {
	switch x := x.(type) {
	case *expr.Var:
		v, ok := e.env[x]
		if !ok {
			fail("variable %s is not in scope", x.Name)
		}
		if e.vec == nil && v.lanes > 0 {
			return e.lane(v, e.laneAt)
		}
		return v
	case *expr.Int:
		return constInt(x.V, x.Type)
	case *expr.Float:
		return constFloat(x.V, x.Type)
	case *expr.Binary:
		if x.DType() == types.Bool && (x.Op == expr.OpAnd || x.Op == expr.OpOr) {
			return e.logical(x)
		}
		if v, ok := e.expand(x); ok {
			return v
		}
		if v, ok := e.contracted(x); ok {
			return v
		}
		if v, ok := e.lanesCompare(x); ok {
			return v
		}
		a, b := e.expr(x.A), e.expr(x.B)
		return e.binary(x, a, b)
	case *expr.Unary:
		if v, ok := e.expand(x); ok {
			return v
		}
		return e.unary(x.Fn, e.expr(x.A))
	case *expr.Select:
		return e.sel(x)
	case *expr.Cast:
		if v, ok := e.rounded(x); ok {
			return v
		}
		if l, ok := x.A.(*expr.Load); ok && l.DType().Bits() < x.To.Bits() {
			return e.cast(x.To, e.widening(l))
		}
		return e.cast(x.To, e.expr(x.A))
	case *expr.Bits:
		a := e.expr(x.A)
		r := value{t: x.To, lanes: a.lanes}
		r.s = e.temp("bitcast %s to %s", a, r.typ())
		return r
	case *expr.Load:
		return e.load(x)
	case *expr.Dot:
		return e.dot(x, constInt(0, types.I32))
	case *expr.Let:
		return e.let(x)
	}
	fail("expression %T", x)
	return value{}
}

// let emits the body of x with its variable bound, which is out of scope behind it: a value that one lane has must not be there for the next.
func (e *emitter) let(x *expr.Let) value {
	outer, shadowed := e.env[x.Var]
	e.bind(x.Var, e.expr(x.Value))
	v := e.expr(x.Body)
	if delete(e.env, x.Var); shadowed {
		e.bind(x.Var, outer)
	}
	return v
}

func (e *emitter) logical(x *expr.Binary) value {
	a := e.expr(x.A)
	if a.known {
		if (a.i != 0) == (x.Op == expr.OpAnd) {
			return e.expr(x.B)
		}
		return a
	}
	if hasLoad(x.B) { // B is evaluated only where A decides nothing
		if x.Op == expr.OpAnd {
			return e.sel(&expr.Select{Cond: x.A, A: x.B, B: &expr.Int{V: 0, Type: types.Bool}})
		}
		return e.sel(&expr.Select{Cond: x.A, A: &expr.Int{V: 1, Type: types.Bool}, B: x.B})
	}
	b := e.expr(x.B)
	if b.known {
		if (b.i != 0) == (x.Op == expr.OpAnd) {
			return a
		}
		return b
	}
	op := "and"
	if x.Op == expr.OpOr {
		op = "or"
	}
	return e.arith(op, a, b)
}

func hasLoad(x expr.Expr) bool {
	found := false
	expr.Loads(x, func(*expr.Load) { found = true })
	return found
}

// readsMore reports whether evaluating x may read what evaluating a condition has not read.
func readsMore(x, cond expr.Expr) bool {
	read := map[string]bool{}
	expr.Walk(cond, func(e expr.Expr) bool {
		switch e := e.(type) {
		case *expr.Select:
			return false // of whose operands one is evaluated
		case *expr.Binary:
			return e.Op != expr.OpAnd && e.Op != expr.OpOr
		case *expr.Load:
			read[expr.String(e)] = true
		}
		return true
	})
	more := false
	expr.Loads(x, func(l *expr.Load) { more = more || !read[expr.String(l)] })
	return more
}

// sel emits a selection. Where an operand reads memory that the condition has not read it is evaluated only if chosen: by a branch on a
// scalar condition, under a mask on a vector one.
func (e *emitter) sel(x *expr.Select) value {
	c := e.expr(x.Cond)
	if c.known {
		if c.i != 0 {
			return e.expr(x.A)
		}
		return e.expr(x.B)
	}
	if !readsMore(x.A, x.Cond) && !readsMore(x.B, x.Cond) {
		return e.choose(c, e.expr(x.A), e.expr(x.B))
	}
	if c.lanes == 0 && e.vec != nil && e.mask == "" && !e.isVector(x.A) && !e.isVector(x.B) {
		return e.scalar(func() value {
			return e.branch(c, func() value { return e.expr(x.A) }, func() value { return e.expr(x.B) })
		})
	}
	if c.lanes == 0 {
		return e.branch(c, func() value { return e.expr(x.A) }, func() value { return e.expr(x.B) })
	}
	if e.readable(x.A) && e.readable(x.B) {
		return e.choose(c, e.expr(x.A), e.expr(x.B))
	}
	var a, b value
	e.underMask(c, e.lanesWhere(x.Cond, true), func() { a = e.expr(x.A) })
	if hasLoad(x.B) {
		e.underMask(e.not(c), e.lanesWhere(x.Cond, false), func() { b = e.expr(x.B) })
	} else {
		b = e.expr(x.B)
	}
	return e.choose(c, a, b)
}

// readable reports whether all lanes may read what evaluating x reads, whether they are chosen or not: all places are inside their buffers.
// A mask would only cost instructions, and a branch for each lane where a target has no masked loads of the type.
func (e *emitter) readable(x expr.Expr) bool {
	ok := true
	expr.Loads(x, func(l *expr.Load) {
		b := l.From.(*loop.Buffer)
		ok = ok && !slices.ContainsFunc(l.Index, hasLoad) && e.inside(b, e.flat(b, l.Index))
	})
	return ok
}

// underMask emits f for the lanes of the mask that c is part of as well, which are those that active names where it is known.
func (e *emitter) underMask(c value, active []bool, f func()) {
	mask, lanes := e.mask, e.active
	c = e.splat(c, e.lanes)
	if mask != "" {
		c, active = e.arith("and", value{t: types.Bool, lanes: e.lanes, s: mask}, c), bothLanes(lanes, active)
	}
	e.mask, e.active = c.s, active
	f()
	e.mask, e.active = mask, lanes
}

// bothLanes are the lanes that two masks have in common; nil where those of one are not known.
func bothLanes(a, b []bool) []bool {
	if a == nil || b == nil {
		return nil
	}
	both := make([]bool, len(a))
	for i := range a {
		both[i] = a[i] && b[i]
	}
	return both
}

func (e *emitter) not(c value) value { return e.arith("xor", c, constInt(1, types.Bool)) }

// branch evaluates one of two alternatives. A scalar alternative is widened when the other is a vector.
func (e *emitter) branch(c value, a, b func() value) value {
	yes, no, end := e.newLabel("yes"), e.newLabel("no"), e.newLabel("end")
	e.line("br i1 %s, label %%%s, label %%%s", c.s, yes, no)
	n := 0
	if e.vec != nil {
		n = e.lanes // both sides must agree, and either may turn out a vector
	}
	e.label(yes)
	va := e.splat(a(), n)
	fromA := e.block
	e.line("br label %%%s", end)
	e.label(no)
	vb := e.splat(b(), n)
	fromB := e.block
	e.line("br label %%%s", end)
	e.label(end)
	r := value{t: va.t, lanes: n}
	r.s = e.temp("phi %s [ %s, %%%s ], [ %s, %%%s ]", r.typ(), va.s, fromA, vb.s, fromB)
	return r
}
