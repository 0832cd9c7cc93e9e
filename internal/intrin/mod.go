package intrin

import (
	"lathe/internal/expr"
	"lathe/internal/types"
)

// Each step of a remainder takes stepBits off the quotient. F32 is divided in F64, where products of a quotient of 28
// bits and a divisor are exact; F64 divides in parts, and its quotients are limited to four steps.
const (
	stepsF32, stepBitsF32 = 10, 28
	stepsF64, stepBitsF64 = 4, 24
)

// mod is C's fmod: exact, with the sign of x. In F64 it is NaN where |x/y| is 2^96 or more.
func (b *build) mod(x, y expr.Expr) expr.Expr {
	d := b.in(double)
	wide := func(e expr.Expr) expr.Expr { return b.let("w", expr.CastTo(types.F64, abs(e))) }
	a, q := wide(x), wide(y)
	steps, bits := stepsF64, stepBitsF64
	if b.t == types.F32 {
		steps, bits = stepsF32, stepBitsF32
	}
	r := a
	power := 1.0
	for range steps - 1 {
		power *= float64(uint64(1) << bits)
	}
	valid := expr.And(lt(a, d.inf()), gt(q, d.c(0)))
	if b.t == types.F64 {
		valid = expr.And(valid, lt(a, mul(mul(q, d.c(power)), d.c(1<<stepBitsF64))))
	}
	for range steps {
		r = d.remainder(r, d.let("d", mul(q, d.c(power))), b.t == types.F64)
		power /= float64(uint64(1) << bits)
	}
	r = b.let("r", pick(valid, r, d.nan()))
	return b.copySign(expr.CastTo(b.t, r), x)
}

// remainder is r mod d for a quotient of one step; r itself where it is below d, which may then be infinite.
func (b *build) remainder(r, d expr.Expr, split bool) expr.Expr {
	q := b.let("q", expr.Call(expr.FnRound, div(r, d)))
	var rest expr.Expr
	if split {
		// 26 and 27 bits of d. The nearest quotient keeps the difference below 2^53 units of d's last place.
		dh := b.let("g", b.float(bin(expr.OpAnd, b.bits(d), b.n(-1<<27))))
		rest = sub(sub(r, mul(q, dh)), mul(q, sub(d, dh)))
	} else {
		rest = sub(r, mul(q, d))
	}
	rest = b.let("s", rest)
	rest = pick(lt(rest, b.c(0)), add(rest, d), rest)
	return b.let("r", pick(bin(expr.OpLE, d, r), rest, r))
}

// floorMod has the sign of y.
func (b *build) floorMod(x, y expr.Expr) expr.Expr {
	m := b.let("m", b.mod(x, y))
	other := bin(expr.OpXor, lt(m, b.c(0)), lt(y, b.c(0)))
	return pick(expr.And(bin(expr.OpNE, m, b.c(0)), other), add(m, y), m)
}
