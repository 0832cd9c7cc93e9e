package intrin

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// reduceTrig splits x into q*pi/2 + r with |r| <= pi/4. q is an integer of which only the low bits count.
//
// F32 is reduced in F64. Both ways are exact up to |x| = 2^20; beyond, the error of r grows as |x|*2^-53, and from about
// 2^50 on q and r are 0, so that no value is outside the range of its function. Infinities and NaN give r = NaN.
func (b *build) reduceTrig(x expr.Expr) (q, r expr.Expr) {
	d := b.in(double)
	w := x
	if b.t == types.F32 {
		w = b.let("w", &expr.Cast{To: types.F64, A: x})
	}
	t := b.let("t", add(mul(w, d.c(2/math.Pi)), d.c(d.magic())))
	n := b.let("n", sub(t, d.c(d.magic())))
	r = w
	for _, part := range halfPi {
		r = sub(r, mul(n, d.c(part)))
	}
	r = b.let("r", r)
	ok := b.let("k", bin(expr.OpLE, abs(r), d.c(0.8)))
	r = b.let("r", pick(ok, r, sub(w, w)))
	q = d.bits(t)
	if b.t == types.F32 {
		q = &expr.Cast{To: types.I32, A: q}
		r = b.let("r", &expr.Cast{To: types.F32, A: r})
	}
	return b.let("q", pick(ok, q, b.n(0))), r
}

// sinCos gives sine and cosine of a reduced r.
func (b *build) sinCos(r expr.Expr) (sin, cos expr.Expr) {
	s, c := sinF32, cosF32
	if b.t == types.F64 {
		s, c = sinF64, cosF64
	}
	u := b.let("u", mul(r, r))
	sin = add(r, mul(mul(r, u), b.horner(s, u)))
	h := b.let("h", mul(u, b.c(0.5)))
	one := b.let("o", sub(b.c(1), h))
	// What 1 - h rounds away is added to the small terms.
	lost := sub(sub(b.c(1), one), h)
	cos = add(one, add(lost, mul(mul(u, u), b.horner(c, u))))
	return b.let("s", sin), b.let("c", cos)
}

// turn is sine, quarters = 0, or cosine, quarters = 1.
func (b *build) turn(x expr.Expr, quarters int64) expr.Expr {
	q, r := b.reduceTrig(x)
	s, c := b.sinCos(r)
	if quarters > 0 {
		q = b.let("q", add(q, b.n(quarters)))
	}
	y := pick(eq(bin(expr.OpAnd, q, b.n(1)), b.n(0)), s, c)
	sign := bin(expr.OpShl, bin(expr.OpAnd, q, b.n(2)), b.n(int64(b.i.Bits()-2)))
	y = b.float(bin(expr.OpXor, b.bits(y), sign))
	if quarters > 0 {
		return y
	}
	return pick(eq(x, b.c(0)), x, y)
}

func (b *build) sin(x expr.Expr) expr.Expr { return b.turn(x, 0) }
func (b *build) cos(x expr.Expr) expr.Expr { return b.turn(x, 1) }

func (b *build) tan(x expr.Expr) expr.Expr {
	q, r := b.reduceTrig(x)
	s, c := b.sinCos(r)
	even := b.let("v", eq(bin(expr.OpAnd, q, b.n(1)), b.n(0)))
	y := div(pick(even, s, neg(c)), pick(even, c, s))
	return pick(eq(x, b.c(0)), x, y)
}

// angle is atan(num/den) for 0 <= num <= den, den > 0. Above tan(pi/8) it is pi/4 + atan((num-den)/(num+den)).
func (b *build) angle(num, den expr.Expr) expr.Expr {
	p := atanF32
	if b.t == types.F64 {
		p = atanF64
	}
	steep := b.let("v", gt(num, mul(den, b.c(math.Sqrt2-1))))
	v := b.let("v", div(pick(steep, sub(num, den), num), pick(steep, add(num, den), den)))
	u := b.let("u", mul(v, v))
	y := b.let("y", add(v, mul(mul(v, u), b.horner(p, u))))
	hi, lo := b.halfPi()
	return b.let("y", pick(steep, add(b.c(hi/2), add(y, b.c(lo/2))), y))
}

// halfPi is pi/2 as a number of the type and what that lacks.
func (b *build) halfPi() (hi, lo float64) {
	const lack = 6.123233995736766e-17 // pi/2 - float64(pi/2)
	if b.t == types.F64 {
		return math.Pi / 2, lack
	}
	return halfPiF32[0], math.Pi/2 - halfPiF32[0]
}

// from is times*pi/2 - y.
func (b *build) from(times float64, y expr.Expr) expr.Expr {
	hi, lo := b.halfPi()
	return sub(b.c(times*hi), sub(y, b.c(times*lo)))
}

func (b *build) atan(x expr.Expr) expr.Expr {
	a := b.let("a", abs(x))
	steep := b.let("i", gt(a, b.c(1)))
	y := b.angle(b.let("p", pick(steep, b.c(1), a)), b.let("q", pick(steep, a, b.c(1))))
	return b.copySign(pick(steep, b.from(1, y), y), x)
}

func (b *build) atan2(y, x expr.Expr) expr.Expr {
	ay, ax := b.let("v", abs(y)), b.let("u", abs(x))
	steep := b.let("i", gt(ay, ax))
	least, most := b.let("p", pick(steep, ax, ay)), b.let("q", pick(steep, ay, ax))
	corner := b.let("b", expr.And(eq(least, b.inf()), eq(most, b.inf())))
	// Quartered, so that their sum is finite.
	quarter := b.let("z", pick(gt(most, b.c(1)), b.c(0.25), b.c(1)))
	num := b.let("p", pick(corner, b.c(1), mul(least, quarter)))
	den := b.let("q", pick(corner, b.c(1), pick(eq(most, b.c(0)), b.c(1), mul(most, quarter))))
	a := b.angle(num, den)
	a = b.let("a", pick(steep, b.from(1, a), a))
	a = pick(lt(b.bits(x), b.n(0)), b.from(2, a), a)
	return b.copySign(a, y)
}

// arc gives for a = |x| the arc sine of s, where s is a up to 1/2 and sqrt((1-a)/2) beyond: there asin(a) is
// pi/2 - 2 asin(s). Above 1 it is NaN.
func (b *build) arc(a expr.Expr) (large, y expr.Expr) {
	p := asinF32
	if b.t == types.F64 {
		p = asinF64
	}
	large = b.let("l", gt(a, b.c(0.5)))
	z := b.let("z", pick(large, mul(sub(b.c(1), a), b.c(0.5)), mul(a, a)))
	s := b.let("s", pick(large, sqrt(z), a))
	return large, b.let("y", add(s, mul(mul(s, z), b.horner(p, z))))
}

func (b *build) asin(x expr.Expr) expr.Expr {
	large, y := b.arc(b.let("a", abs(x)))
	return b.copySign(pick(large, b.from(1, add(y, y)), y), x)
}

func (b *build) acos(x expr.Expr) expr.Expr {
	large, y := b.arc(b.let("a", abs(x)))
	twice := b.let("w", add(y, y))
	negative := b.let("d", lt(x, b.c(0)))
	far := pick(negative, b.from(2, twice), twice)
	near := b.from(1, pick(negative, neg(y), y))
	return pick(large, far, near)
}
