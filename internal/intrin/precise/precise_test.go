package precise

import (
	"math"
	"testing"
)

// TestAgainstMath compares with package math, whose errors are a few units in the last place.
func TestAgainstMath(t *testing.T) {
	for _, c := range []struct {
		name   string
		got    func(Real) Real
		want   func(float64) float64
		lo, hi float64
	}{
		{"exp", Exp, math.Exp, -700, 700}, {"expm1", Expm1, math.Expm1, -30, 700}, {"log", Log, math.Log, 1e-9, 1e9},
		{"log1p", Log1p, math.Log1p, -0.99, 50}, {"sinh", Sinh, math.Sinh, -700, 700}, {"cosh", Cosh, math.Cosh, -700, 700},
		{"tanh", Tanh, math.Tanh, -20, 20}, {"asinh", Asinh, math.Asinh, -1e5, 1e5}, {"acosh", Acosh, math.Acosh, 1, 1e5},
		{"atanh", Atanh, math.Atanh, -0.999, 0.999}, {"sin", Sin, math.Sin, -100, 100}, {"cos", Cos, math.Cos, -100, 100},
		{"tan", Tan, math.Tan, -1.5, 1.5}, {"atan", Atan, math.Atan, -100, 100}, {"asin", Asin, math.Asin, -1, 1},
		{"acos", Acos, math.Acos, -1, 1}, {"erf", Erf, math.Erf, -6, 6}, {"sqrt", Sqrt, math.Sqrt, 0, 1e9},
	} {
		for i := range 201 {
			x := c.lo + (c.hi-c.lo)*(float64(i)+0.3)/202
			got, _ := c.got(Num(x)).Float64()
			if want := c.want(x); math.Abs(got-want) > 2e-15*max(math.Abs(want), math.Abs(x)*0x1p-40) {
				t.Errorf("%s(%g) = %g, want %g", c.name, x, got, want)
			}
		}
	}
	for _, p := range [][2]float64{{1, 2}, {-1, 2}, {1, -2}, {-1, -2}, {0, -1}, {3, 0}} {
		if got, _ := Atan2(Num(p[0]), Num(p[1])).Float64(); math.Abs(got-math.Atan2(p[0], p[1])) > 1e-15 {
			t.Errorf("atan2(%g, %g) = %g", p[0], p[1], got)
		}
	}
	if got, _ := Pow(Num(3), Num(2.5)).Float64(); math.Abs(got-math.Pow(3, 2.5)) > 1e-14 {
		t.Errorf("pow = %g", got)
	}
}

// TestIdentities checks the precision itself by ways that share no series.
func TestIdentities(t *testing.T) {
	small := func(what string, x Real) {
		if x.Sign() != 0 && x.MantExp(nil) > -200 {
			t.Errorf("%s is off by %s", what, x.Text('g', 5))
		}
	}
	for _, x := range []Real{Num(0.3), Num(0.9), Num(0x1p-30), Num(0.7071)} {
		small("log(exp(x))", Sub(Log(Exp(x)), x))
		small("sin^2 + cos^2", Sub(Add(Mul(Sin(x), Sin(x)), Mul(Cos(x), Cos(x))), one))
		small("tan(atan(x))", Sub(Tan(Atan(x)), x))
		small("sin(asin(x))", Sub(Sin(Asin(x)), x))
		small("cos(acos(x))", Sub(Cos(Acos(x)), x))
		small("sinh(asinh(x))", Sub(Sinh(Asinh(x)), x))
		small("tanh(atanh(x))", Sub(Tanh(Atanh(x)), x))
		small("cosh^2 - sinh^2", Sub(Sub(Mul(Cosh(x), Cosh(x)), Mul(Sinh(x), Sinh(x))), one))
		small("expm1(log1p(x))", Sub(Expm1(Log1p(x)), x))
	}
}
