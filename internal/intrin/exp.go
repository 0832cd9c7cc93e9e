package intrin

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// reduceExp splits x into n*ln2 + r with |r| <= ln2/2. The low bits of t are the integer n. Where |x| is huge or no number,
// the parts are nonsense: the caller replaces the result.
func (b *build) reduceExp(x expr.Expr) (t, r expr.Expr) {
	ln2 := ln2F32
	if b.t == types.F64 {
		ln2 = ln2F64
	}
	t, n := b.exponentOf(x, math.Log2E, 0)
	// n times the first part is exact.
	return t, b.let("r", sub(sub(x, mul(n, b.c(ln2[0]))), mul(n, b.c(ln2[1]))))
}

// expOf is exp(r) for a reduced r.
func (b *build) expOf(r expr.Expr) expr.Expr {
	if b.t == types.F32 { // one operation less than by expm1Of, and as good where 1 is the largest summand
		return add(mul(add(mul(b.horner(expF32, r), r), b.c(1)), r), b.c(1))
	}
	return add(b.expm1Of(r), b.c(1))
}

// expm1Of is exp(r) - 1 for a reduced r.
func (b *build) expm1Of(r expr.Expr) expr.Expr {
	p := expF32
	if b.t == types.F64 {
		p = expF64
	}
	return add(r, mul(mul(r, r), b.horner(p, r)))
}

// shiftExponent multiplies p by 2 to the power of the low bits of t, by integer arithmetic: the result must be normal.
func (b *build) shiftExponent(p, t expr.Expr) expr.Expr {
	return b.float(add(b.bits(p), b.toExponent(b.bits(t))))
}

func (b *build) exp(x expr.Expr) expr.Expr {
	if b.t == types.F32 {
		return b.expF32(x)
	}
	t, r := b.reduceExp(x)
	y := b.scale(b.let("y", b.expOf(r)), t)
	y = pick(lt(x, b.c(-745.14)), b.c(0), y)
	return b.unless(x, 709.79, y)
}

// expF32 is 2 exp(r) times 2^(n-1), which is zero for the least n of clamped x: results below 2^-125.5 become 0, and those that
// are too large infinite, by the product alone.
func (b *build) expF32(x expr.Expr) expr.Expr {
	return b.clampedExp(b.let("z", expr.Max(expr.Min(x, b.c(88.72284)), b.c(leastExpF32))), ln2F32)
}

// expNeg is exp(x) where x is not positive: none is too large. The least results may be less exact, which are small beside the 1 that
// they stand with.
func (b *build) expNeg(x expr.Expr) expr.Expr {
	if b.t == types.F64 {
		return b.exp(x)
	}
	return b.clampedExp(b.let("z", expr.Max(x, b.c(leastExpF32))), b.ln2())
}

// leastExpF32 has the least n, with which the product of expF32 is 0.
const leastExpF32 = -87.33654

// clampedExp is expF32 of clamped x, with the logarithm of 2 in parts.
func (b *build) clampedExp(x expr.Expr, ln2 []float64) expr.Expr {
	t, n := b.exponentOf(x, math.Log2E, b.bias-1)
	r := x
	for _, part := range ln2 {
		r = sub(r, mul(n, b.c(part)))
	}
	r = b.let("r", r)
	e := poly{2, 2}
	for _, c := range expF32 {
		e = append(e, 2*c)
	}
	return mul(b.horner(e, r), b.float(b.toExponent(b.bits(t))))
}

// exponentOf is n, the integer next to x times a factor, and t, whose low bits are n+bias.
func (b *build) exponentOf(x expr.Expr, factor float64, bias int64) (t, n expr.Expr) {
	shift := b.c(b.magic() + float64(bias))
	t = b.let("t", add(mul(x, b.c(factor)), shift))
	return t, b.let("n", sub(t, shift))
}

// scale multiplies y by 2 to the power of the low bits of t in two steps, because the power itself may be no normal number.
func (b *build) scale(y, t expr.Expr) expr.Expr {
	n := b.let("k", sub(b.bits(t), b.n(int64(math.Float64bits(b.magic())))))
	half := b.let("h", bin(expr.OpShr, n, b.n(1)))
	power := func(k expr.Expr) expr.Expr { return b.float(b.toExponent(add(k, b.n(b.bias)))) }
	return mul(mul(y, power(half)), power(sub(n, half)))
}

// unless is y, but Inf where x > limit and NaN where x is.
func (b *build) unless(x expr.Expr, limit float64, y expr.Expr) expr.Expr {
	return pick(bin(expr.OpLE, x, b.c(limit)), y, add(x, b.inf()))
}

// halfExp is exp(x)/2 for x >= 0: its range is that of sinh and cosh.
func (b *build) halfExp(x expr.Expr) expr.Expr {
	t, r := b.reduceExp(x)
	p := b.let("p", b.expOf(r))
	y := b.float(add(b.bits(p), b.toExponent(sub(b.bits(t), b.n(1)))))
	return b.let("e", b.unless(x, b.pick(89.41598, 710.4758600739439), y))
}

// expm1Core is exp(x) - 1 where that is neither rounded to -1 nor infinite. It loses the sign of -0.
func (b *build) expm1Core(x expr.Expr) expr.Expr {
	t, r := b.reduceExp(x)
	p := b.let("p", b.expm1Of(r))
	// s = 2^(n-1), because 2^n may be infinite: exp(x) - 1 = 2 (p s + (s - 1/2)).
	s := b.let("s", b.float(add(b.toExponent(b.bits(t)), b.n(b.oneBits()-1<<b.mant))))
	return mul(add(mul(p, s), sub(s, b.c(0.5))), b.c(2))
}

func (b *build) expm1(x expr.Expr) expr.Expr {
	y := b.expm1Core(x)
	y = pick(lt(x, b.c(b.pick(-17.5, -37.5))), b.c(-1), y)
	y = pick(lt(abs(x), b.c(b.pick(0x1p-25, 0x1p-54))), x, y)
	return b.unless(x, b.pick(88.72283, 709.782712893384), y)
}

// sinh is a polynomial up to 1, and made of exponentials beyond.
func (b *build) sinh(x expr.Expr) expr.Expr {
	p := sinhF32
	if b.t == types.F64 {
		p = sinhF64
	}
	u := b.let("u", mul(x, x))
	small := add(x, mul(mul(x, u), b.horner(p, u)))
	a := b.let("a", abs(x))
	e := b.halfExp(a)
	large := b.copySign(sub(e, div(b.c(0.25), e)), x)
	return pick(lt(a, b.c(1)), small, large)
}

func (b *build) cosh(x expr.Expr) expr.Expr {
	e := b.halfExp(b.let("a", abs(x)))
	return add(e, div(b.c(0.25), e))
}

// exp2Parts gives p and s such that 2^w = p s + s in F32, where s is 2 to the power of n+shift and 2^w - 1 = p s + (s - 1)
// loses nothing for small w.
func (b *build) exp2Parts(w expr.Expr, shift int64) (p, s expr.Expr) {
	t := b.let("t", add(w, b.c(b.magic())))
	r := b.let("r", sub(w, sub(t, b.c(b.magic()))))
	p = b.let("p", mul(r, b.horner(exp2F32, r)))
	return p, b.let("s", b.float(add(b.toExponent(b.bits(t)), b.n(b.oneBits()+shift<<b.mant))))
}

// clamped is |x| but at most limit, from where on the result is 1.
func (b *build) clamped(x expr.Expr, limit float64) expr.Expr {
	a := b.let("a", abs(x))
	return b.let("a", pick(gt(a, b.c(limit)), b.c(limit), a))
}

// tanh is h/(h+1) with h = (exp(2|x|) - 1)/2, and a quotient of polynomials in F32, of half as many operations, where products are not
// rounded: else that is off by six units in the last place.
func (b *build) tanh(x expr.Expr) expr.Expr {
	var h expr.Expr
	switch {
	case b.t == types.F32 && b.fused:
		return b.tanhF32(x)
	case b.t == types.F32:
		p, s := b.exp2Parts(b.let("w", mul(b.clamped(x, 9.02), b.c(2*math.Log2E))), -1)
		h = add(mul(p, s), sub(s, b.c(0.5)))
	default:
		w := b.let("w", mul(b.clamped(x, 20), b.c(2)))
		h = mul(b.expm1Core(w), b.c(0.5))
	}
	h = b.let("h", h)
	return b.copySign(div(h, add(h, b.c(1))), x)
}

// tanhF32 is (z + z^3 P(z^2)) / Q(z^2), where z is x within a bound. There the quotient is 1, and nowhere more.
func (b *build) tanhF32(x expr.Expr) expr.Expr {
	z := b.let("z", expr.Max(expr.Min(x, b.c(tanhBound)), b.c(-tanhBound)))
	u := b.let("u", mul(z, z))
	p := b.horner(tanhF32[1:], u)
	return div(add(mul(mul(z, u), p), z), b.horner(tanhF32Q, u))
}

// tanhBound is the last number of which, and of all below, the quotient is at most 1.
const tanhBound = 0x1.013c4ap+03

// erf is 1 - 2^w in F32, with a polynomial for w.
func (b *build) erf(x expr.Expr) expr.Expr {
	if b.t == types.F64 {
		return b.erfF64(x)
	}
	a := b.clamped(x, 3.95)
	p, s := b.exp2Parts(b.let("w", mul(a, b.horner(erfF32, a))), 0)
	return b.copySign(sub(sub(b.c(1), s), mul(p, s)), x)
}

// erfF64 is a polynomial up to 1, and 1 - exp(-x^2) p beyond.
func (b *build) erfF64(x expr.Expr) expr.Expr {
	a := b.clamped(x, 6)
	u := b.let("u", mul(a, a))
	small := mul(a, b.horner(erfF64, u))
	w := b.let("w", div(sub(a, b.c(2.5)), add(a, b.c(2.5))))
	p := b.horner(erfcF64, w)
	t, r := b.reduceExp(b.let("z", neg(u)))
	e := b.shiftExponent(b.let("e", b.expOf(r)), t)
	return b.copySign(pick(lt(a, b.c(1)), small, sub(b.c(1), mul(e, p))), x)
}
