package llvm

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/intrin"
	"lathe/internal/types"
)

var floatOps = map[expr.Op]string{expr.OpAdd: "fadd", expr.OpSub: "fsub", expr.OpMul: "fmul", expr.OpDiv: "fdiv", expr.OpMod: "frem"}

var intOps = map[expr.Op]string{expr.OpAdd: "add", expr.OpSub: "sub", expr.OpMul: "mul", expr.OpAnd: "and", expr.OpOr: "or", expr.OpXor: "xor"}

// contracted emits a sum or difference with a product as one fused multiply-add where the target has one: the product is
// not rounded then. That is for reductions and for the expansions of functions, whose error bounds allow it. A model's
// own products are rounded: quantised models are full of exact ties. It reports false when x has no such form.
func (e *emitter) contracted(x *expr.Binary) (value, bool) {
	if !e.contract || !x.DType().IsFloat() || x.Op != expr.OpAdd && x.Op != expr.OpSub {
		return value{}, false
	}
	product, other, negProduct, negOther := x.B, x.A, x.Op == expr.OpSub, false
	if m, ok := x.A.(*expr.Binary); ok && m.Op == expr.OpMul {
		product, other, negProduct, negOther = x.A, x.B, false, x.Op == expr.OpSub
	}
	m, ok := product.(*expr.Binary)
	if !ok || m.Op != expr.OpMul {
		return value{}, false
	}
	a, b, c := e.expr(m.A), e.expr(m.B), e.expr(other)
	if negProduct {
		a = e.unary(expr.FnNeg, a)
	}
	if negOther {
		c = e.unary(expr.FnNeg, c)
	}
	n := max(a.lanes, b.lanes, c.lanes)
	return e.multiplyAdd(e.splat(a, n), e.splat(b, n), e.splat(c, n)), true
}

// multiplyAdd emits a*b + c, in one instruction where the target has it.
func (e *emitter) multiplyAdd(a, b, c value) value {
	if e.target.ISA().Instructions.NamesFMA && e.target.HasFMA {
		return e.call("fma", a, b, c)
	}
	return e.call("fmuladd", a, b, c)
}

func (e *emitter) binary(x *expr.Binary, a, b value) value {
	t := a.t
	if x.Op.Compares() {
		return e.compare(x.Op, a, b)
	}
	if t.IsFloat() {
		if op, ok := floatOps[x.Op]; ok {
			a, b = e.same(a, b)
			return value{t: t, lanes: a.lanes, s: e.temp("%s %s, %s", op, a, b.s)}
		}
		switch x.Op {
		case expr.OpMin, expr.OpMax:
			return e.floatMinMax(x, a, b)
		case expr.OpGreater:
			return e.greater(x, a, b)
		}
		fail("%s of %s is not lowered", x.Op, t)
	}
	if op, ok := intOps[x.Op]; ok {
		return e.arith(op, a, b)
	}
	switch x.Op {
	case expr.OpMin, expr.OpMax:
		name := map[bool]string{true: "u", false: "s"}[t.IsUnsigned()] + x.Op.String()
		if a.known && b.known && t.IsSigned() {
			if (a.i < b.i) == (x.Op == expr.OpMin) {
				return a
			}
			return b
		}
		a, b = e.same(a, b)
		return e.call(name, a, b)
	case expr.OpShl, expr.OpShr:
		return e.shift(x.Op, a, b)
	case expr.OpDiv, expr.OpMod, expr.OpFloorDiv, expr.OpFloorMod:
		nonneg := t == types.I64 && e.ranges.Of(x.A).Lo >= 0
		return e.divide(x.Op, a, b, nonneg)
	}
	fail("%s of %s is not lowered", x.Op, t)
	return value{}
}

// floatMinMax gives NaN if either operand is NaN. Against a constant one compare and select do: they are the target's
// own max instruction, with the operand that may be NaN on the side that it returns.
func (e *emitter) floatMinMax(x *expr.Binary, a, b value) value {
	pred := "ogt"
	if x.Op == expr.OpMin {
		pred = "olt"
	}
	if _, ok := x.A.(*expr.Float); ok {
		a, b = b, a
	}
	a, b = e.same(a, b)
	cond := func(p string, l, r value) value {
		return value{t: types.Bool, lanes: a.lanes, s: e.temp("fcmp %s %s, %s", p, l, r.s)}
	}
	_, constA := x.A.(*expr.Float)
	_, constB := x.B.(*expr.Float)
	if constA || constB {
		return e.choose(cond(pred, b, a), b, a) // a, not the constant, where unordered
	}
	// b first: x86 tests that operand for NaN apart from its max, and a is what a reduction waits for.
	return e.callTo(a.t, "nsz ", x.Op.String()+"imum."+suffix(a.t, a.lanes), b, a)
}

// greater is the maximum in one instruction of the target, whatever that gives for NaN.
func (e *emitter) greater(x *expr.Binary, a, b value) value {
	if e.target == nil || !e.target.ISA().Instructions.LosesNaN {
		return e.floatMinMax(&expr.Binary{Op: expr.OpMax, A: x.A, B: x.B}, a, b)
	}
	a, b = e.same(a, b)
	return e.choose(value{t: types.Bool, lanes: a.lanes, s: e.temp("fcmp ogt %s, %s", b, a.s)}, b, a)
}

func (e *emitter) compare(op expr.Op, a, b value) value {
	if a.known && b.known && !a.t.IsUnsigned() {
		var v bool
		switch op {
		case expr.OpEQ:
			v = a.i == b.i
		case expr.OpNE:
			v = a.i != b.i
		case expr.OpLT:
			v = a.i < b.i
		case expr.OpLE:
			v = a.i <= b.i
		case expr.OpGT:
			v = a.i > b.i
		case expr.OpGE:
			v = a.i >= b.i
		}
		return constInt(map[bool]int64{true: 1}[v], types.Bool)
	}
	names := map[expr.Op]string{expr.OpEQ: "eq", expr.OpNE: "ne", expr.OpLT: "lt", expr.OpLE: "le", expr.OpGT: "gt", expr.OpGE: "ge"}
	name := names[op]
	a, b = e.same(a, b)
	inst := "icmp"
	switch {
	case a.t.IsFloat():
		inst = "fcmp"
		if op == expr.OpNE {
			name = "une"
		} else {
			name = "o" + name
		}
	case op != expr.OpEQ && op != expr.OpNE && (a.t.IsUnsigned() || a.t == types.Bool):
		name = "u" + name
	case op != expr.OpEQ && op != expr.OpNE:
		name = "s" + name
	}
	return value{t: types.Bool, lanes: a.lanes, s: e.temp("%s %s %s, %s", inst, name, a, b.s)}
}

func (e *emitter) shift(op expr.Op, a, b value) value {
	a, b = e.same(a, b)
	inst := "shl"
	if op == expr.OpShr {
		inst = "lshr"
		if a.t.IsSigned() {
			inst = "ashr"
		}
	}
	zero := e.splat(constInt(0, a.t), a.lanes)
	width := e.splat(constInt(int64(a.t.Bits()), a.t), a.lanes)
	ok := value{t: types.Bool, lanes: a.lanes, s: e.temp("icmp ult %s, %s", b, width.s)}
	safe := e.choose(ok, b, zero)
	r := value{t: a.t, lanes: a.lanes, s: e.temp("%s %s, %s", inst, a, safe.s)}
	return e.choose(ok, r, zero)
}

// divide emits a total division: by zero gives zero, least/-1 wraps.
func (e *emitter) divide(op expr.Op, a, b value, nonneg bool) value {
	t := a.t
	signed := t.IsSigned()
	floor := op == expr.OpFloorDiv || op == expr.OpFloorMod
	rem := op == expr.OpMod || op == expr.OpFloorMod
	if a.known && b.known && b.i > 0 && signed {
		q := a.i / b.i
		if floor && a.i%b.i < 0 {
			q--
		}
		if rem {
			return constInt(a.i-q*b.i, t)
		}
		return constInt(q, t)
	}
	constB := b.known && b.i > 0
	a, b = e.same(a, b)
	n := a.lanes
	inst := func(op string, x, y value) value {
		return value{t: t, lanes: n, s: e.temp("%s %s, %s", op, x, y.s)}
	}
	if !signed || nonneg && constB {
		safe, zero := b, e.splat(constInt(0, t), n)
		var isZero value
		if !constB {
			isZero = e.compare(expr.OpEQ, b, zero)
			safe = e.choose(isZero, e.splat(constInt(1, t), n), b)
		}
		name := "udiv"
		if rem {
			name = "urem"
		}
		r := inst(name, a, safe)
		if !constB {
			r = e.choose(isZero, zero, r)
		}
		return r
	}
	zero, one := e.splat(constInt(0, t), n), e.splat(constInt(1, t), n)
	safe := b
	var isZero value
	if !constB {
		isZero = e.compare(expr.OpEQ, b, zero)
		lo, _ := t.IntRange()
		least := e.compare(expr.OpEQ, a, e.splat(constInt(lo, t), n))
		minus := e.compare(expr.OpEQ, b, e.splat(constInt(-1, t), n))
		bad := e.arith("or", isZero, e.arith("and", least, minus))
		safe = e.choose(bad, one, b)
	}
	q := inst("sdiv", a, safe)
	r := e.arith("sub", a, e.arith("mul", q, safe))
	if floor { // the remainder gets the divisor's sign
		wrong := e.arith("and", e.compare(expr.OpNE, r, zero), value{t: types.Bool, lanes: n, s: e.temp("icmp slt %s, %s", e.arith("xor", r, safe), zero.s)})
		q = e.choose(wrong, e.arith("sub", q, one), q)
		r = e.choose(wrong, e.arith("add", r, safe), r)
	}
	out := q
	if rem {
		out = r
	}
	if !constB {
		out = e.choose(isZero, zero, out)
	}
	return out
}

func (e *emitter) unary(fn expr.Fn, a value) value {
	switch fn {
	case expr.FnNeg:
		if a.t.IsFloat() {
			return value{t: a.t, lanes: a.lanes, s: e.temp("fneg %s", a)}
		}
		return e.arith("sub", e.splat(constInt(0, a.t), a.lanes), a)
	case expr.FnAbs:
		switch {
		case a.t.IsFloat():
			return e.call("fabs", a)
		case a.t.IsSigned():
			e.declare(fmt.Sprintf("%s @llvm.abs.%s(%s, i1)", a.typ(), suffix(a.t, a.lanes), a.typ()))
			return value{t: a.t, lanes: a.lanes, s: e.temp("call %s @llvm.abs.%s(%s, i1 false)", a.typ(), suffix(a.t, a.lanes), a)}
		}
		return a
	case expr.FnNot:
		if a.known && a.t == types.Bool {
			return constInt(1-a.i, types.Bool)
		}
		return e.arith("xor", a, e.splat(constInt(map[bool]int64{true: 1, false: -1}[a.t == types.Bool], a.t), a.lanes))
	case expr.FnSqrt:
		return e.call("sqrt", a)
	case expr.FnFloor, expr.FnCeil, expr.FnTrunc, expr.FnRound:
		return e.round(fn, a)
	case expr.FnIsNaN:
		return value{t: types.Bool, lanes: a.lanes, s: e.temp("fcmp uno %s, %s", a, a.s)}
	case expr.FnIsInf:
		m := e.call("fabs", a)
		return value{t: types.Bool, lanes: a.lanes, s: e.temp("fcmp oeq %s, %s", m, e.splat(constFloat(posInf, a.t), a.lanes).s)}
	case expr.FnPopcnt:
		return e.call("ctpop", a)
	case expr.FnClz:
		e.declare(fmt.Sprintf("%s @llvm.ctlz.%s(%s, i1)", a.typ(), suffix(a.t, a.lanes), a.typ()))
		return value{t: a.t, lanes: a.lanes, s: e.temp("call %s @llvm.ctlz.%s(%s, i1 false)", a.typ(), suffix(a.t, a.lanes), a)}
	}
	fail("%s of %s is not lowered", fn, a.t)
	return value{}
}

// expand emits a function that the target has no instruction for: its operands, then its expansion over them. It
// reports false for what package intrin leaves alone.
func (e *emitter) expand(x expr.Expr) (value, bool) {
	operands := intrin.Operands(x)
	vars := make([]expr.Expr, len(operands))
	for i, a := range operands {
		vars[i] = &expr.Var{Name: "operand", Type: a.DType()}
	}
	over := intrin.WithOperands(x, vars)
	body := intrin.Expand(over, e.target != nil && e.target.HasFMA)
	if body == over {
		return value{}, false
	}
	for i, a := range operands {
		e.bind(vars[i].(*expr.Var), e.expr(a))
	}
	old := e.contract
	e.contract = true
	v := e.expr(body)
	e.contract = old
	return v, true
}
