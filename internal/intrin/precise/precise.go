// Package precise computes elementary functions to more than 200 bits: the yardstick of the expansions in package intrin,
// and what their polynomials are fitted to. It is slow, for tests and generators only, and wants arguments where the
// result is finite.
package precise

import (
	"math"
	"math/big"
)

// precision is the mantissa of all computations, in bits. Cancellation takes up to 60 of them.
const precision = 320

// A Real is a number of that precision. Functions return new ones.
type Real = *big.Float

func fresh() Real { return new(big.Float).SetPrec(precision) }

// Num is x, which is no NaN.
func Num(x float64) Real { return fresh().SetFloat64(x) }

// Add is a + b.
func Add(a, b Real) Real { return fresh().Add(a, b) }

// Sub is a - b.
func Sub(a, b Real) Real { return fresh().Sub(a, b) }

// Mul is a b.
func Mul(a, b Real) Real { return fresh().Mul(a, b) }

// Div is a/b.
func Div(a, b Real) Real { return fresh().Quo(a, b) }

// Neg is -a.
func Neg(a Real) Real { return fresh().Neg(a) }

// Abs is |a|.
func Abs(a Real) Real { return fresh().Abs(a) }

// Sqrt is the square root of a >= 0.
func Sqrt(a Real) Real { return fresh().Sqrt(a) }

// Scale is a 2^n.
func Scale(a Real, n int) Real { return fresh().SetMantExp(a, n) }

var (
	one = Num(1)
	// Ln2 is log(2).
	Ln2 = Scale(atanh(Div(one, Num(3))), 1)
	// Pi is Machin's 16 atan(1/5) - 4 atan(1/239).
	Pi = Sub(Scale(atan(Div(one, Num(5))), 4), Scale(atan(Div(one, Num(239))), 2))
)

// series sums terms until they no longer count. next makes term n from term n-1.
func series(first Real, next func(t Real, n int) Real) Real {
	s, t := first, first
	for n := 1; ; n++ {
		t = next(t, n)
		s = Add(s, t)
		if t.Sign() == 0 || t.MantExp(nil) < s.MantExp(nil)-precision {
			return s
		}
	}
}

// odd sums x + x^3 coef(1) + x^5 coef(2) ..., with alternating signs if u is -x^2 rather than x^2.
func odd(x, u Real, coef func(n int) Real) Real {
	p := x
	return series(x, func(_ Real, n int) Real {
		p = Mul(p, u)
		return Mul(p, coef(n))
	})
}

func oneOver(n int) Real { return Div(one, Num(float64(n))) }

// atanh and atan want |x| well below 1.
func atanh(x Real) Real { return odd(x, Mul(x, x), func(n int) Real { return oneOver(2*n + 1) }) }
func atan(x Real) Real  { return odd(x, Neg(Mul(x, x)), func(n int) Real { return oneOver(2*n + 1) }) }

// Exp is e^x.
func Exp(x Real) Real {
	n := round(Div(x, Ln2))
	const halvings = 12
	y := Scale(Sub(x, Mul(Num(n), Ln2)), -halvings)
	e := series(one, func(t Real, n int) Real { return Div(Mul(t, y), Num(float64(n))) })
	for range halvings {
		e = Mul(e, e)
	}
	return Scale(e, int(n))
}

// round is the nearest integer to x, up to 2^53.
func round(x Real) float64 {
	f, _ := x.Float64()
	return math.Round(f)
}

// Expm1 is e^x - 1, by the series where that would cancel.
func Expm1(x Real) Real {
	if x.Sign() == 0 || x.MantExp(nil) > -20 {
		return Sub(Exp(x), one)
	}
	return series(x, func(t Real, n int) Real { return Div(Mul(t, x), Num(float64(n+1))) })
}

// Log is the natural logarithm of x > 0.
func Log(x Real) Real {
	m := fresh()
	k := x.MantExp(m)
	if m.Cmp(Num(math.Sqrt2/2)) < 0 {
		m, k = Scale(m, 1), k-1
	}
	return Add(Mul(Num(float64(k)), Ln2), Log1pSmall(Sub(m, one)))
}

// Log1pSmall is log(1+x) for |x| < 1/2, without cancellation.
func Log1pSmall(x Real) Real { return Scale(atanh(Div(x, Add(x, Num(2)))), 1) }

// Log1p is log(1+x) of x > -1.
func Log1p(x Real) Real {
	if Abs(x).Cmp(Num(0.4)) < 0 {
		return Log1pSmall(x)
	}
	return Log(Add(x, one))
}

// Sinh is the hyperbolic sine.
func Sinh(x Real) Real {
	e := Expm1(Abs(x))
	y := Scale(Add(e, Div(e, Add(e, one))), -1)
	return y.Mul(y, Num(float64(x.Sign())))
}

// Cosh is the hyperbolic cosine.
func Cosh(x Real) Real {
	e := Exp(x)
	return Scale(Add(e, Div(one, e)), -1)
}

// Tanh is the hyperbolic tangent.
func Tanh(x Real) Real {
	e := Expm1(Scale(x, 1))
	return Div(e, Add(e, Num(2)))
}

// Asinh is the inverse of Sinh.
func Asinh(x Real) Real {
	a := Abs(x)
	u := Mul(a, a)
	y := Log1p(Add(a, Div(u, Add(Sqrt(Add(u, one)), one))))
	return y.Mul(y, Num(float64(x.Sign())))
}

// Acosh is the inverse of Cosh, for x >= 1.
func Acosh(x Real) Real {
	t := Sub(x, one)
	return Log1p(Add(t, Sqrt(Mul(t, Add(t, Num(2))))))
}

// Atanh is the inverse of Tanh, for |x| < 1.
func Atanh(x Real) Real { return Scale(Log1p(Div(Scale(x, 1), Sub(one, x))), -1) }

// quadrant is x = q pi/2 + r with |r| <= pi/4, for |x| up to 2^53.
func quadrant(x Real) (q int, r Real) {
	half := Scale(Pi, -1)
	n := round(Div(x, half))
	return int(math.Mod(n, 4)+4) % 4, Sub(x, Mul(Num(n), half))
}

func sinSmall(x Real) Real {
	u := Neg(Mul(x, x))
	return series(x, func(t Real, n int) Real { return Div(Mul(t, u), Num(float64(2*n*(2*n+1)))) })
}

func cosSmall(x Real) Real {
	u := Neg(Mul(x, x))
	return series(one, func(t Real, n int) Real { return Div(Mul(t, u), Num(float64(2*n*(2*n-1)))) })
}

// Sin is the sine.
func Sin(x Real) Real { return turn(x, 0) }

// Cos is the cosine.
func Cos(x Real) Real { return turn(x, 1) }

func turn(x Real, quarters int) Real {
	q, r := quadrant(x)
	switch (q + quarters) % 4 {
	case 0:
		return sinSmall(r)
	case 1:
		return cosSmall(r)
	case 2:
		return Neg(sinSmall(r))
	}
	return Neg(cosSmall(r))
}

// Tan is the tangent.
func Tan(x Real) Real { return Div(Sin(x), Cos(x)) }

// Atan is the arc tangent.
func Atan(x Real) Real {
	if Abs(x).Cmp(Num(0.2)) < 0 {
		return atan(x)
	}
	// Halve the angle: atan(x) = 2 atan(x / (1 + sqrt(1 + x^2))).
	return Scale(Atan(Div(x, Add(one, Sqrt(Add(one, Mul(x, x)))))), 1)
}

// Atan2 is the angle of the point (x, y), not both 0.
func Atan2(y, x Real) Real {
	if x.Sign() > 0 {
		return Atan(Div(y, x))
	}
	half := Scale(Pi, -1)
	if y.Sign() == 0 {
		return Pi
	}
	if y.Sign() < 0 {
		half = Neg(half)
	}
	return Sub(half, Atan(Div(x, y)))
}

// Asin is the arc sine of |x| <= 1.
func Asin(x Real) Real { return Atan2(x, Sqrt(Mul(Sub(one, x), Add(one, x)))) }

// Acos is the arc cosine of |x| <= 1.
func Acos(x Real) Real { return Atan2(Sqrt(Mul(Sub(one, x), Add(one, x))), x) }

// Erf is the error function of |x| up to 7.
func Erf(x Real) Real {
	c := one
	s := odd(x, Neg(Mul(x, x)), func(n int) Real {
		c = Div(c, Num(float64(n)))
		return Mul(c, oneOver(2*n+1))
	})
	return Mul(s, Div(Num(2), Sqrt(Pi)))
}

// Pow is x^y of x > 0.
func Pow(x, y Real) Real { return Exp(Mul(y, Log(x))) }
