package intrin

import (
	"fmt"
	"math"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/expr/eval"
	"lathe/internal/intrin/precise"
	"lathe/internal/types"
)

// A yardstick is the true function: in float64 for F32, precisely for F64.
type yardstick struct {
	fn     expr.Fn
	fast   func(float64) float64
	true   func(precise.Real) precise.Real
	lo, hi float64 // where the error in F64 is measured
}

var yardsticks = []yardstick{
	{expr.FnRsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }, func(x precise.Real) precise.Real { return precise.Div(precise.Num(1), precise.Sqrt(x)) }, 0x1p-1074, math.MaxFloat64},
	{expr.FnExp, math.Exp, precise.Exp, -745, 709.78},
	{expr.FnExpNeg, math.Exp, precise.Exp, -745, 0},
	{expr.FnExpm1, math.Expm1, precise.Expm1, -60, 709.78},
	{expr.FnLog, log, precise.Log, 0x1p-1074, math.MaxFloat64},
	{expr.FnLog1p, math.Log1p, precise.Log1p, -1 + 0x1p-53, math.MaxFloat64},
	{expr.FnTanh, math.Tanh, precise.Tanh, -25, 25},
	{expr.FnSigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, func(x precise.Real) precise.Real {
		return precise.Div(precise.Num(1), precise.Add(precise.Num(1), precise.Exp(precise.Neg(x))))
	}, -708.3, 60},
	{expr.FnErf, math.Erf, precise.Erf, -6.5, 6.5},
	{expr.FnSin, math.Sin, precise.Sin, -0x1p20, 0x1p20},
	{expr.FnCos, math.Cos, precise.Cos, -0x1p20, 0x1p20},
	{expr.FnTan, math.Tan, precise.Tan, -0x1p20, 0x1p20},
	{expr.FnAsin, math.Asin, precise.Asin, -1, 1},
	{expr.FnAcos, math.Acos, precise.Acos, -1, 1},
	{expr.FnAtan, math.Atan, precise.Atan, -0x1p100, 0x1p100},
	{expr.FnSinh, math.Sinh, precise.Sinh, -710.4, 710.4},
	{expr.FnCosh, math.Cosh, precise.Cosh, -710.4, 710.4},
	{expr.FnAsinh, math.Asinh, precise.Asinh, -0x1p500, 0x1p500},
	{expr.FnAcosh, math.Acosh, precise.Acosh, 1, math.MaxFloat64},
	{expr.FnAtanh, math.Atanh, precise.Atanh, -1 + 0x1p-53, 1 - 0x1p-53},
}

// A mode is what becomes of a product that is an operand of a sum.
type mode struct {
	contract bool // it is not rounded
	fused    bool // Expand knows that
}

var modes = []mode{{false, false}, {true, false}, {true, true}}

// function1 compiles the expansion of fn.
func function1(t *testing.T, fn expr.Fn, d types.DType, m mode) func(float64) float64 {
	x := &expr.Var{Name: "x", Type: d}
	return compiled1(t, expr.Call(fn, x), x, d, m)
}

// compiled1 compiles the expansion of a function of x.
func compiled1(t *testing.T, e expr.Expr, x *expr.Var, d types.DType, m mode) func(float64) float64 {
	e = Expand(e, m.fused)
	c := &eval.Compiler{Contract: m.contract}
	c.Slot(x)
	code, err := c.Compile(e)
	if err != nil {
		t.Fatal(err)
	}
	slots := make([]uint64, c.Slots())
	return func(v float64) float64 {
		slots[0] = eval.OfFloat(d, v)
		return eval.Float(d, code(slots))
	}
}

// lastPlace is the unit in the last place of want.
func lastPlace(d types.DType, want float64) float64 {
	mant, least := 52, -1074
	if d == types.F32 {
		mant, least = 23, -149
	}
	return math.Ldexp(1, max(math.Ilogb(want)-mant, least))
}

// ulps is the distance of got from want in those units.
func ulps(d types.DType, got, want float64) float64 { return math.Abs(got-want) / lastPlace(d, want) }

func stated(t *testing.T, name string, d types.DType) float64 {
	for _, e := range Table() {
		if e.Name == name && e.Type == d {
			return e.MaxULP
		}
	}
	t.Fatalf("%s of %s is not in the table", name, d)
	return 0
}

// stride is the step through the bit patterns of float32. The bounds in the table were found with 257.
const stride = 20011

func TestF32(t *testing.T) {
	for _, y := range yardsticks {
		for _, m := range modes {
			t.Run(fmt.Sprintf("%s/contract=%v,fused=%v", y.fn, m.contract, m.fused), func(t *testing.T) {
				t.Parallel()
				measureF32(t, y, m)
			})
		}
	}
}

// leastOf is where results of float32 may be 0.
var leastOf = map[expr.Fn]float64{expr.FnExp: math.Sqrt2 * 0x1p-126, expr.FnExpNeg: math.Sqrt2 * 0x1p-126, expr.FnSigmoid: 0x1p-126}

func measureF32(t *testing.T, y yardstick, m mode) {
	f := function1(t, y.fn, types.F32, m)
	bound := stated(t, y.fn.String(), types.F32)
	worst, at := 0.0, 0.0
	for i := int64(0); i < 1<<32; i += stride {
		x := float64(math.Float32frombits(uint32(i)))
		if skip(y.fn, x) {
			continue
		}
		got, want := f(x), y.fast(x)
		if math.Abs(want) < leastOf[y.fn] {
			if got != 0 && ulps(types.F32, got, want) > bound {
				t.Errorf("%s(%g) = %g", y.fn, x, got)
			}
			continue
		}
		switch narrow := float64(float32(want)); {
		case narrow != narrow:
			if got == got {
				t.Errorf("%s(%g) = %g, want NaN", y.fn, x, got)
			}
		case math.IsInf(narrow, 0):
			if got != narrow {
				t.Errorf("%s(%g) = %g, want %g", y.fn, x, got, narrow)
			}
		case want == 0:
			if got != 0 || math.Signbit(got) != math.Signbit(want) {
				t.Errorf("%s(%g) = %g, want %g", y.fn, x, got, want)
			}
		default:
			if e := ulps(types.F32, got, want); !(e <= worst) {
				worst, at = e, x
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%s: %.3f ulp at %g (%x)", y.fn, worst, at, at)
	if !(worst <= bound) {
		t.Errorf("%s(%g): %.3f ulp, stated %g", y.fn, at, worst, bound)
	}
}

// skip leaves out what the notes of the table exclude.
func skip(fn expr.Fn, x float64) bool {
	switch fn {
	case expr.FnSin, expr.FnCos, expr.FnTan:
		return math.Abs(x) > 0x1p20 && !math.IsInf(x, 0)
	case expr.FnExpNeg:
		return x > 0
	}
	return false
}

func TestF64(t *testing.T) {
	for _, y := range yardsticks {
		for _, m := range modes {
			t.Run(fmt.Sprintf("%s/contract=%v,fused=%v", y.fn, m.contract, m.fused), func(t *testing.T) {
				t.Parallel()
				measureF64(t, y, m)
			})
		}
	}
}

func measureF64(t *testing.T, y yardstick, m mode) {
	f := function1(t, y.fn, types.F64, m)
	bound := stated(t, y.fn.String(), types.F64)
	worst, at := 0.0, 0.0
	for _, x := range arguments(y.lo, y.hi, 1500) {
		want := y.true(precise.Num(x))
		near, _ := want.Float64()
		got := f(x)
		if math.IsInf(near, 0) || near == 0 {
			if got != near {
				t.Errorf("%s(%g) = %g, want %g", y.fn, x, got, near)
			}
			continue
		}
		if math.IsInf(got, 0) || got != got {
			t.Fatalf("%s(%g) = %g, want %g", y.fn, x, got, near)
		}
		diff, _ := precise.Sub(precise.Num(got), want).Float64()
		if e := math.Abs(diff) / lastPlace(types.F64, near); !(e <= worst) {
			worst, at = e, x
		}
	}
	t.Logf("%s: %.3f ulp at %g (%x)", y.fn, worst, at, at)
	if !(worst <= bound) {
		t.Errorf("%s(%g): %.3f ulp, stated %g", y.fn, at, worst, bound)
	}
}

// TestSigmoidProduct: a product with a sigmoid is one quotient, as exact as the sigmoid, and special where the product is.
func TestSigmoidProduct(t *testing.T) {
	for _, d := range []types.DType{types.F32, types.F64} {
		for _, m := range modes {
			x := &expr.Var{Name: "x", Type: d}
			s := expr.Call(expr.FnSigmoid, x)
			bound := stated(t, expr.FnSigmoid.String(), d)
			for _, e := range []expr.Expr{expr.Mul(x, s), expr.Mul(s, x)} {
				f := compiled1(t, e, x, d, m)
				for _, v := range append(special(d), arguments(-87, 87, 1500)...) {
					if d == types.F32 {
						v = float64(float32(v))
					}
					got, want := f(v), v/(1+math.Exp(-v))
					switch {
					case want != want:
						if got == got {
							t.Errorf("%s: %g gives %g", d, v, got)
						}
					case math.IsInf(want, 0) || math.Abs(want) < 0x1p-118:
						if math.Abs(got-want) > 0x1p-118 {
							t.Errorf("%s: %g gives %g, want %g", d, v, got, want)
						}
					case ulps(d, got, want) > bound:
						t.Errorf("%s: %g gives %g, want %g: %.2f ulp", d, v, got, want, ulps(d, got, want))
					}
				}
			}
		}
	}
}

// arguments are n points of [lo, hi]: half evenly spread, half by magnitude.
func arguments(lo, hi float64, n int) []float64 {
	var xs []float64
	for i := range n / 2 {
		r := math.Mod(float64(i)*0.6180339887498949, 1)
		xs = append(xs, lo+(hi/2-lo/2)*r*2)
		x := math.Exp2(-60 + (60+math.Log2(max(math.Abs(lo), math.Abs(hi))))*r)
		xs = append(xs, max(lo, min(hi, x)), max(lo, min(hi, -x)))
	}
	return append(xs, lo, hi)
}
