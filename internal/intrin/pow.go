package intrin

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// pow is C's pow. Small constant exponents become products and roots.
func (b *build) pow(x, y expr.Expr) expr.Expr {
	if c, ok := y.(*expr.Float); ok {
		if e := b.powConst(x, c.V); e != nil {
			return e
		}
	}
	a := b.let("a", abs(x))
	var z expr.Expr
	if b.t == types.F32 {
		z = b.powF32(a, y)
	} else {
		z = b.powF64(a, y)
	}
	whole := b.let("w", eq(expr.Call(expr.FnFloor, y), y))
	half := b.let("h", mul(y, b.c(0.5)))
	odd := expr.And(whole, bin(expr.OpNE, expr.Call(expr.FnFloor, half), half))
	negative := lt(b.bits(x), b.n(0))
	z = b.let("z", z)
	z = b.let("z", pick(expr.And(negative, odd), neg(z), z))
	root := expr.And(lt(x, b.c(0)), expr.Call(expr.FnNot, whole))
	z = pick(expr.And(root, lt(a, b.inf())), b.nan(), z)
	z = pick(expr.Or(bin(expr.OpNE, x, x), bin(expr.OpNE, y, y)), add(x, y), z)
	return pick(expr.Or(eq(x, b.c(1)), eq(y, b.c(0))), b.c(1), z)
}

// powConst is nil for exponents without a form of their own.
func (b *build) powConst(x expr.Expr, y float64) expr.Expr {
	square := mul(x, x)
	// x + 0 makes -0 positive; the powers of both infinities are positive.
	root := func() expr.Expr { return b.let("r", pick(eq(abs(x), b.inf()), b.inf(), sqrt(add(x, b.c(0))))) }
	switch y {
	case 0:
		return b.c(1)
	case 1:
		return x
	case 2:
		return square
	case 3:
		return mul(square, x)
	case 4:
		s := b.let("s", square)
		return mul(s, s)
	case -1:
		return div(b.c(1), x)
	case 0.5:
		return root()
	case -0.5:
		return div(b.c(1), root())
	}
	return nil
}

// powF32 is a to the power of y by way of F64, whose exponent range holds every result.
func (b *build) powF32(a, y expr.Expr) expr.Expr {
	d := b.in(double)
	w := d.let("w", &expr.Cast{To: types.F64, A: a})
	l := d.logCore(w, nil)
	e := d.let("e", d.exponent(w, mul(&expr.Cast{To: types.F64, A: y}, d.logLimits(w, l))))
	const limit = 200 // beyond, float32 results are 0 or infinite
	e = d.let("e", pick(gt(e, d.c(limit)), d.c(limit), pick(lt(e, d.c(-limit)), d.c(-limit), e)))
	t, r := d.reduceExp(e)
	return &expr.Cast{To: types.F32, A: d.shiftExponent(d.expOf(r), t)}
}

// logLimits gives the logarithm l of a its limits at 0 and infinity.
func (b *build) logLimits(a, l expr.Expr) expr.Expr {
	return pick(eq(a, b.c(0)), b.c(math.Inf(-1)), pick(eq(a, b.inf()), b.inf(), l))
}

// exponent is e, but 0 for a = 1: there e may be 0 times infinity.
func (b *build) exponent(a, e expr.Expr) expr.Expr { return pick(eq(a, b.c(1)), b.c(0), e) }

// high keeps the upper 21 bits of the mantissa: the product of two such numbers is exact.
func (b *build) high(e expr.Expr) expr.Expr {
	return b.let("g", b.float(bin(expr.OpAnd, b.bits(e), b.n(-1<<32))))
}

// powF64 carries the logarithm and its product with y as sums of two numbers.
func (b *build) powF64(a, y expr.Expr) expr.Expr {
	// Beyond 2^66 every power but that of 1 is 0 or infinite.
	const limit = 0x1p66
	y = b.let("y", pick(gt(y, b.c(limit)), b.c(limit), pick(lt(y, b.c(-limit)), b.c(-limit), y)))
	lh, ll := b.logPair(a)
	yh := b.high(y)
	ph := b.let("p", mul(yh, lh))
	pl := b.let("q", add(mul(sub(y, yh), lh), mul(y, ll)))
	e := b.let("e", b.exponent(a, pick(expr.Or(eq(a, b.c(0)), eq(a, b.inf())), mul(y, b.logLimits(a, b.c(0))), add(ph, pl))))
	t := b.let("t", add(mul(e, b.c(math.Log2E)), b.c(b.magic())))
	n := b.let("n", sub(t, b.c(b.magic())))
	r := b.let("r", add(sub(ph, mul(n, b.c(ln2F64[0]))), sub(pl, mul(n, b.c(ln2F64[1])))))
	z := b.let("z", b.scale(b.let("z", b.expOf(r)), t))
	z = pick(eq(a, b.c(1)), b.c(1), z)
	z = pick(lt(e, b.c(-745.14)), b.c(0), z)
	return pick(gt(e, b.c(709.79)), b.inf(), z)
}

// logPair is log(a) of a positive finite a as a sum of a number of 21 bits and a small one.
func (b *build) logPair(a expr.Expr) (hi, lo expr.Expr) {
	small := b.let("d", lt(a, b.c(0x1p-1022)))
	k, f := b.splitLog(b.let("x", pick(small, mul(a, b.c(0x1p53)), a)))
	k = b.let("k", add(k, pick(small, b.c(-53), b.c(0))))

	// s = f/(2+f) = sh + sl.
	v := b.let("v", add(f, b.c(2)))
	s := b.let("s", div(f, v))
	sh, vh := b.high(s), b.high(v)
	vl := b.let("w", sub(f, sub(vh, b.c(2))))
	sl := b.let("j", div(sub(sub(f, mul(sh, vh)), mul(sh, vl)), v))

	// log(1+f) = 2/3 s (3 + s^2 + r) = 2/3 (ph + pl).
	z := b.let("z", mul(s, s))
	r := b.let("r", add(mul(mul(z, z), b.horner(powF64, z)), mul(sl, add(sh, s))))
	zh := b.let("z", mul(sh, sh))
	th := b.high(add(add(zh, b.c(3)), r))
	tl := b.let("t", sub(r, sub(sub(th, b.c(3)), zh)))
	u := b.let("u", mul(sh, th))
	w := b.let("w", add(mul(sl, th), mul(tl, s)))
	ph := b.high(add(u, w))
	pl := b.let("p", sub(w, sub(ph, u)))

	// log(a) = k ln2 + 2/3 (ph + pl).
	mh := b.let("m", mul(ph, b.c(twoThirds[0])))
	ml := add(mul(ph, b.c(twoThirds[1])), mul(pl, b.c(2.0/3)))
	ml = b.let("m", add(ml, mul(k, b.c(ln2F64[1]))))
	kh := b.let("k", mul(k, b.c(ln2F64[0])))
	hi = b.high(add(add(kh, mh), ml))
	return hi, b.let("l", sub(ml, sub(sub(hi, kh), mh)))
}
