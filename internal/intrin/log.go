package intrin

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// splitLog writes a positive normal x as 2^k * (1+f) with 1+f in [sqrt(1/2), sqrt(2)). k is a float.
func (b *build) splitLog(x expr.Expr) (k, f expr.Expr) {
	low := int64(math.Float32bits(math.Sqrt2 / 2))
	if b.t == types.F64 {
		low = int64(math.Float64bits(math.Sqrt2 / 2))
	}
	bits := b.let("i", b.bits(x))
	n := b.let("k", bin(expr.OpShr, sub(bits, b.n(low)), b.n(int64(b.mant))))
	k = b.let("k", &expr.Cast{To: b.t, A: n})
	return k, b.let("f", sub(b.float(sub(bits, b.toExponent(n))), b.c(1)))
}

// logCore is log(x) of a positive normal x. k is added to the exponent of x.
func (b *build) logCore(x, more expr.Expr) expr.Expr {
	k, f := b.splitLog(x)
	if more != nil {
		k = b.let("k", add(k, more))
	}
	if b.t == types.F32 {
		u := b.let("u", mul(f, f))
		tail := mul(mul(f, u), b.horner(logF32, f))
		tail = add(tail, mul(k, b.c(ln2F32[1])))
		tail = sub(tail, mul(u, b.c(0.5)))
		return add(add(tail, f), mul(k, b.c(ln2F32[0])))
	}
	// log(1+f) = f - (h - s (h + R)) with h = f^2/2 and s = f/(2+f): the last term is small beside f.
	s := b.let("s", div(f, add(f, b.c(2))))
	z := b.let("z", mul(s, s))
	h := b.let("h", mul(mul(f, f), b.c(0.5)))
	tail := add(mul(s, add(h, mul(z, b.horner(logF64, z)))), mul(k, b.c(ln2F64[1])))
	return sub(mul(k, b.c(ln2F64[0])), sub(sub(h, tail), f))
}

func (b *build) log(x expr.Expr) expr.Expr {
	least := math.Ldexp(1, int(1-b.bias))
	small := b.let("d", lt(x, b.c(least)))
	up := b.mant + 1
	y := b.logCore(b.let("x", pick(small, mul(x, b.c(math.Ldexp(1, up))), x)), pick(small, b.c(-float64(up)), b.c(0)))
	y = pick(gt(x, b.c(0)), y, pick(eq(x, b.c(0)), b.c(math.Inf(-1)), b.nan()))
	return pick(eq(x, b.inf()), x, y)
}

// log1pCore is log(1+x) for a finite x > -1, with what 1+x rounds away added as its first-order term. NaN stays NaN.
func (b *build) log1pCore(x expr.Expr) expr.Expr {
	u := b.let("u", add(x, b.c(1)))
	lost := sub(x, sub(u, b.c(1)))
	return add(b.logCore(u, nil), div(lost, u))
}

func (b *build) log1p(x expr.Expr) expr.Expr {
	y := b.log1pCore(x)
	y = pick(gt(x, b.c(-1)), y, pick(eq(x, b.c(-1)), b.c(math.Inf(-1)), b.nan()))
	y = pick(lt(abs(x), b.c(b.pick(0x1p-25, 0x1p-54))), x, y)
	return pick(eq(x, b.inf()), x, y)
}

// large is the bound from which on x^2 + 1 is x^2.
func (b *build) large() expr.Expr { return b.c(b.pick(0x1p14, 0x1p28)) }

// orLarge is log1p(y) for x below large, and log(2x) from there on, where y may be infinite.
func (b *build) orLarge(x, y expr.Expr) expr.Expr {
	large := b.let("l", gt(x, b.large()))
	y = b.log1pCore(b.let("y", pick(large, sub(x, b.c(1)), y)))
	y = add(y, pick(large, b.c(math.Ln2), b.c(0)))
	return pick(eq(x, b.inf()), x, y)
}

// asinh is log1p(a + a^2/(1 + sqrt(a^2+1))) of a = |x|.
func (b *build) asinh(x expr.Expr) expr.Expr {
	a := b.let("a", abs(x))
	u := b.let("u", mul(a, a))
	y := b.orLarge(a, add(a, div(u, add(sqrt(add(u, b.c(1))), b.c(1)))))
	y = b.let("y", b.copySign(y, x))
	return pick(lt(a, b.c(b.pick(0x1p-13, 0x1p-28))), x, y)
}

// acosh is log1p(t + sqrt(2t + t^2)) of t = x-1.
func (b *build) acosh(x expr.Expr) expr.Expr {
	t := b.let("t", sub(x, b.c(1)))
	y := b.orLarge(x, add(t, sqrt(mul(t, add(t, b.c(2))))))
	return pick(lt(x, b.c(1)), b.nan(), y)
}

// atanh is log1p(2a/(1-a))/2 of a = |x|.
func (b *build) atanh(x expr.Expr) expr.Expr {
	a := b.let("a", abs(x))
	y := mul(b.log1pCore(b.let("y", div(add(a, a), sub(b.c(1), a)))), b.c(0.5))
	y = pick(lt(a, b.c(1)), y, pick(eq(a, b.c(1)), b.inf(), b.nan()))
	y = b.let("y", b.copySign(y, x))
	return pick(lt(a, b.c(b.pick(0x1p-13, 0x1p-28))), x, y)
}
