package c

import (
	"lathe/internal/expr"
	"lathe/internal/types"
)

// operators are C's operators that mean the same on floats, and on integers where nothing can overflow.
var operators = map[expr.Op]struct {
	text string
	prec int
}{
	expr.OpAdd: {"+", sum}, expr.OpSub: {"-", sum}, expr.OpMul: {"*", product}, expr.OpDiv: {"/", product}, expr.OpMod: {"%", product},
	expr.OpAnd: {"&", bitwise}, expr.OpOr: {"|", bitwise}, expr.OpXor: {"^", bitwise},
	expr.OpEQ: {"==", equality}, expr.OpNE: {"!=", equality}, expr.OpLT: {"<", relation}, expr.OpLE: {"<=", relation},
	expr.OpGT: {">", relation}, expr.OpGE: {">=", relation},
}

var supportOps = map[expr.Op]string{
	expr.OpAdd: "add", expr.OpSub: "sub", expr.OpMul: "mul", expr.OpDiv: "div", expr.OpMod: "mod", expr.OpFloorDiv: "floordiv",
	expr.OpFloorMod: "floormod", expr.OpMin: "min", expr.OpMax: "max", expr.OpGreater: "greater", expr.OpPow: "pow", expr.OpAtan2: "atan2",
	expr.OpShl: "shl", expr.OpShr: "shr",
}

func (e *emitter) binary(x *expr.Binary) value {
	t := x.A.DType()
	if t == types.Bool && (x.Op == expr.OpAnd || x.Op == expr.OpOr) {
		return e.logical(x)
	}
	if y, ok := turned(x); ok {
		x = y
	}
	a, b := e.expr(x.A), e.expr(x.B)
	if a.known && b.known && (t == types.I64 || t == types.Bool) {
		if v, ok := fold(x.Op, a.i, b.i); ok {
			return integer(v, x.DType())
		}
	}
	op := operators[x.Op]
	switch {
	case x.Op.Compares():
		return infix(a, op.text, b, op.prec)
	case t.IsFloat():
		if x.Op == expr.OpMod || op.text == "" {
			return function(e.call(supportOps[x.Op]+"_"+short[t]), a, b)
		}
		return infix(a, op.text, b, op.prec)
	}
	narrow := t == types.I64 && a.narrow && b.narrow
	switch x.Op {
	case expr.OpAdd, expr.OpSub, expr.OpMul:
		return e.wrapping(x, a, b)
	case expr.OpAnd, expr.OpOr, expr.OpXor:
		r := infix(a, op.text, b, bitwise)
		r.narrow = narrow
		return r
	case expr.OpShl, expr.OpShr:
		return e.shift(x.Op, t, a, b)
	case expr.OpMin, expr.OpMax:
		return e.integers(supportOps[x.Op], t, narrow, a, b)
	}
	return e.divide(x, a, b)
}

// turned is c - a*n for an index a*-n + c.
func turned(x *expr.Binary) (*expr.Binary, bool) {
	m, ok := x.A.(*expr.Binary)
	if x.Op != expr.OpAdd || x.A.DType() != types.I64 || !ok || m.Op != expr.OpMul {
		return nil, false
	}
	n, isInt := expr.IntOf(m.B)
	if _, c := x.B.(*expr.Int); !c || !isInt || n >= 0 || n < -1<<31 {
		return nil, false
	}
	if n == -1 {
		return &expr.Binary{Op: expr.OpSub, A: x.B, B: m.A}, true
	}
	return &expr.Binary{Op: expr.OpSub, A: x.B, B: expr.Mul(m.A, expr.Index(int(-n)))}, true
}

// integers calls a support function of integers, that of 32 bits where indices have no more.
func (e *emitter) integers(name string, t types.DType, narrow bool, args ...value) value {
	if narrow {
		t = types.I32
	}
	r := function(e.call(name+"_"+short[t]), args...)
	r.narrow = narrow
	return r
}

// wrapping writes a sum, difference or product of integers.
func (e *emitter) wrapping(x *expr.Binary, a, b value) value {
	t, op := x.A.DType(), operators[x.Op]
	switch {
	case t == types.U64 || t == types.U32:
		return infix(a, op.text, b, op.prec)
	case t.Bits() < 32: // C computes these in int, which may have 16 bits
		if !e.exact(x) {
			wide := infix(converted("uint32_t", a), op.text, converted("uint32_t", b), op.prec)
			return converted(typeNames[t], wide)
		}
		return infix(converted("int32_t", a), op.text, b, op.prec)
	case !e.exact(x):
		return function(e.call(supportOps[x.Op]+"_"+short[t]), a, b)
	}
	if i := e.spanOf(x); t == types.I64 && a.narrow && b.narrow {
		if !fits32(i) {
			a = converted("int64_t", a)
		}
		r := infix(a, op.text, b, op.prec)
		r.narrow = fits32(i)
		return r
	}
	return infix(a, op.text, b, op.prec)
}

func (e *emitter) shift(op expr.Op, t types.DType, a, b value) value {
	width := int64(t.Bits())
	if !b.known || b.i < 0 || b.i >= width {
		return function(e.call(supportOps[op]+"_"+short[t]), a, b)
	}
	switch {
	case op == expr.OpShr:
		return infix(a, ">>", b, shift)
	case t == types.U32 || t == types.U64:
		return infix(a, "<<", b, shift)
	}
	u := unsigned(t)
	if width < 32 {
		u = "uint32_t"
	}
	return converted(typeNames[t], infix(converted(u, a), "<<", b, shift))
}

// divide writes a quotient or remainder: C's operators do where the divisor is a positive constant.
func (e *emitter) divide(x *expr.Binary, a, b value) value {
	t := x.A.DType()
	d := e.span(x.B)
	narrow := t == types.I64 && a.narrow && b.narrow
	floor := x.Op == expr.OpFloorDiv || x.Op == expr.OpFloorMod
	if d.Single() && d.Lo > 0 && bounded(d) && (!floor || t.IsUnsigned() || e.span(x.A).Lo >= 0) {
		op := "/"
		if x.Op == expr.OpMod || x.Op == expr.OpFloorMod {
			op = "%"
		}
		r := infix(a, op, b, product)
		r.narrow = narrow
		return r
	}
	return e.integers(supportOps[x.Op], t, narrow, a, b)
}

// fold computes an operator on constants of type int64 or Bool; ok is false for what indices do not have.
func fold(op expr.Op, a, b int64) (v int64, ok bool) {
	truth := func(c bool) (int64, bool) {
		if c {
			return 1, true
		}
		return 0, true
	}
	switch op {
	case expr.OpAdd:
		return a + b, true
	case expr.OpSub:
		return a - b, true
	case expr.OpMul:
		return a * b, true
	case expr.OpMin:
		return min(a, b), true
	case expr.OpMax:
		return max(a, b), true
	case expr.OpEQ:
		return truth(a == b)
	case expr.OpNE:
		return truth(a != b)
	case expr.OpLT:
		return truth(a < b)
	case expr.OpLE:
		return truth(a <= b)
	case expr.OpGT:
		return truth(a > b)
	case expr.OpGE:
		return truth(a >= b)
	}
	return 0, false
}

var supportFns = map[expr.Fn]string{
	expr.FnAbs: "abs", expr.FnSqrt: "sqrt", expr.FnRsqrt: "rsqrt", expr.FnFloor: "floor", expr.FnCeil: "ceil", expr.FnTrunc: "trunc",
	expr.FnRound: "round", expr.FnIsNaN: "isnan", expr.FnIsInf: "isinf", expr.FnPopcnt: "popcnt", expr.FnClz: "clz",
}

// ofTruth is whether x is a truth value as a number.
func ofTruth(x expr.Expr) bool {
	c, ok := x.(*expr.Cast)
	return ok && c.A.DType() == types.Bool
}

func (e *emitter) unary(x *expr.Unary) value {
	t := x.A.DType()
	if x.Fn == expr.FnNeg && !t.IsFloat() {
		return e.binary(&expr.Binary{Op: expr.OpSub, A: &expr.Int{V: 0, Type: t}, B: x.A})
	}
	a := e.expr(x.A)
	switch {
	case x.Fn == expr.FnNeg:
		return value{s: "-" + a.in(atom), prec: prefix}
	case x.Fn == expr.FnNot && t == types.Bool:
		if a.known {
			return integer(1-a.i, types.Bool)
		}
		return value{s: "!" + a.in(atom), prec: prefix}
	case x.Fn == expr.FnNot && t.IsSigned() && ofTruth(x.A): // compilers take ~ of a truth value for a mistake
		return infix(integer(-1, t), "-", a, sum)
	case x.Fn == expr.FnNot:
		return converted(typeNames[t], value{s: "~" + a.in(atom), prec: prefix})
	case x.Fn == expr.FnAbs && t.IsUnsigned():
		return a
	}
	name := supportFns[x.Fn]
	if name == "" {
		name = x.Fn.String()
	}
	return function(e.call(name+"_"+short[t]), a)
}
