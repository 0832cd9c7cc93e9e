package intrin

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/expr/eval"
	"lathe/internal/intrin/precise"
	"lathe/internal/types"
)

// function2 compiles the expansion of op.
func function2(t testing.TB, op expr.Op, d types.DType, contract bool) func(x, y float64) float64 {
	x, y := &expr.Var{Name: "x", Type: d}, &expr.Var{Name: "y", Type: d}
	c := &eval.Compiler{Contract: contract}
	c.Slot(x)
	c.Slot(y)
	code, err := c.Compile(Expand(expr.Bin(op, x, y), false))
	if err != nil {
		t.Fatal(err)
	}
	slots := make([]uint64, c.Slots())
	return func(u, v float64) float64 {
		slots[0], slots[1] = eval.OfFloat(d, u), eval.OfFloat(d, v)
		return eval.Float(d, code(slots))
	}
}

// special are arguments at which functions have special values, for both types.
func special(d types.DType) []float64 {
	least, most, normal := math.SmallestNonzeroFloat64, math.MaxFloat64, 0x1p-1022
	if d == types.F32 {
		least, most, normal = math.SmallestNonzeroFloat32, math.MaxFloat32, 0x1p-126
	}
	inf := math.Inf(1)
	xs := []float64{math.NaN()}
	for _, x := range []float64{0, least, 5 * least, normal, normal * 1.5, 0.25, 0.5, 1, 1.5, 2, 3, 4, 7, 1023, 1024, most / 2, most, inf} {
		xs = append(xs, x, -x)
	}
	return xs
}

// narrow rounds a float64 to the type.
func narrow(d types.DType, x float64) float64 {
	if d == types.F32 {
		return float64(float32(x))
	}
	return x
}

// alike reports whether got is the special value want, or near it.
func alike(d types.DType, got, want float64) bool {
	want = narrow(d, want)
	switch {
	case want != want:
		return got != got
	case want == 0 || math.IsInf(want, 0):
		return got == want && math.Signbit(got) == math.Signbit(want)
	}
	return ulps(d, got, want) <= 8
}

func TestSpecialBinary(t *testing.T) {
	for op, want := range map[expr.Op]func(x, y float64) float64{expr.OpPow: pow, expr.OpAtan2: atan2, expr.OpMod: math.Mod, expr.OpFloorMod: floorMod} {
		for _, d := range []types.DType{types.F32, types.F64} {
			for _, contract := range []bool{false, true} {
				f := function2(t, op, d, contract)
				for _, x := range special(d) {
					for _, y := range special(d) {
						if d == types.F64 && (op == expr.OpMod || op == expr.OpFloorMod) && math.Abs(x/y) >= 0x1p96 && !math.IsInf(x, 0) {
							if got := f(x, y); y != 0 && got == got {
								t.Errorf("%s(%g, %g) = %g, want NaN", op, x, y, got)
							}
							continue
						}
						if got := f(x, y); !alike(d, got, want(x, y)) {
							t.Errorf("%s of %s: (%g, %g) = %g, want %g", op, d, x, y, got, narrow(d, want(x, y)))
						}
					}
				}
			}
		}
	}
}

// atan2 is math.Atan2, which takes a quotient that underflows for 0.
func atan2(y, x float64) float64 {
	if x < 0 && y != 0 && y/x == 0 {
		return math.Copysign(math.Pi, y)
	}
	return math.Atan2(y, x)
}

// log is math.Log, whose amd64 version is wrong on subnormal numbers.
func log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// pow is math.Pow, which loses precision where the result is neither 0 nor infinite.
func pow(x, y float64) float64 {
	z := math.Pow(x, y)
	if x != x || y != y || math.IsInf(x, 0) || x == 0 || z == 0 || z != z || math.IsInf(y, 0) || math.Abs(y*math.Log(math.Abs(x))) > 800 {
		return z
	}
	a, _ := precise.Pow(precise.Num(math.Abs(x)), precise.Num(y)).Float64()
	return math.Copysign(a, z)
}

func floorMod(x, y float64) float64 {
	m := math.Mod(x, y)
	if m != 0 && (m < 0) != (y < 0) {
		m += y
	}
	return m
}

func TestSpecialUnary(t *testing.T) {
	for _, y := range yardsticks {
		for _, d := range []types.DType{types.F32, types.F64} {
			for _, m := range modes {
				f := function1(t, y.fn, d, m)
				for _, x := range special(d) {
					if skip(y.fn, x) || (y.fn == expr.FnExp || y.fn == expr.FnExpNeg) && d == types.F32 && math.Abs(y.fast(x)) < 0x1p-126 && y.fast(x) != 0 {
						continue
					}
					if got := f(x); !alike(d, got, y.fast(x)) {
						t.Errorf("%s of %s: (%g) = %g, want %g", y.fn, d, x, got, narrow(d, y.fast(x)))
					}
				}
			}
		}
	}
}

// TestTrigHuge holds what the table says of arguments beyond 2^20.
func TestTrigHuge(t *testing.T) {
	for _, fn := range []expr.Fn{expr.FnSin, expr.FnCos} {
		want := map[expr.Fn]func(float64) float64{expr.FnSin: math.Sin, expr.FnCos: math.Cos}[fn]
		for _, d := range []types.DType{types.F32, types.F64} {
			f := function1(t, fn, d, mode{})
			for e := 20; e < 128; e++ {
				for _, m := range []float64{1, -1.2345678806304932, 1.75} {
					x := math.Ldexp(m, e)
					got := f(x)
					bound := math.Abs(x)*0x1p-52 + 0x1p-22
					if !(math.Abs(got) <= 1+0x1p-20) || e < 50 && math.Abs(got-want(x)) > bound {
						t.Errorf("%s of %s: (%g) = %g, want %g", fn, d, x, got, want(x))
					}
				}
			}
		}
	}
}

// TestTanHuge: however large the argument, the tangent divides by no zero.
func TestTanHuge(t *testing.T) {
	for _, d := range []types.DType{types.F32, types.F64} {
		f := function1(t, expr.FnTan, d, mode{})
		for e := 20; e < 128; e++ {
			for m := 1.0; m < 2; m += 0x1p-6 {
				for _, x := range []float64{math.Ldexp(m, e), -math.Ldexp(m, e)} {
					if y := f(x); math.IsInf(y, 0) || math.IsNaN(y) {
						t.Errorf("tan of %s: (%g) = %g", d, x, y)
					}
				}
			}
		}
	}
}

// TestMod compares with math.Mod, which is exact, on quotients of all sizes.
func TestMod(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, d := range []types.DType{types.F32, types.F64} {
		for _, contract := range []bool{false, true} {
			mod, floor := function2(t, expr.OpMod, d, contract), function2(t, expr.OpFloorMod, d, contract)
			for range 20000 {
				e := r.Intn(270) - 5
				y := narrow(d, math.Ldexp(1+r.Float64(), r.Intn(60)-140))
				if d == types.F64 {
					e = r.Intn(100) - 5
				}
				x := narrow(d, math.Ldexp(y, e)*(1+r.Float64()))
				if r.Intn(4) == 0 {
					x = narrow(d, y*float64(r.Intn(1<<20)))
				}
				if r.Intn(2) == 0 {
					x = -x
				}
				if math.IsInf(x, 0) || d == types.F64 && math.Abs(x/y) >= 0x1p95 {
					continue
				}
				if got, want := mod(x, y), math.Mod(x, y); got != want {
					t.Fatalf("%s: mod(%x, %x) = %x, want %x", d, x, y, got, want)
				}
				if got, want := floor(x, y), narrow(d, floorMod(x, y)); got != want {
					t.Fatalf("%s: floormod(%x, %x) = %x, want %x", d, x, y, got, want)
				}
			}
		}
	}
}

func TestBinaryErrors(t *testing.T) {
	for _, d := range []types.DType{types.F32, types.F64} {
		for _, op := range []expr.Op{expr.OpPow, expr.OpAtan2} {
			for _, contract := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/contract=%v", op, d, contract), func(t *testing.T) {
					t.Parallel()
					measureBinary(t, op, d, contract)
				})
			}
		}
	}
}

func measureBinary(t *testing.T, op expr.Op, d types.DType, contract bool) {
	f := function2(t, op, d, contract)
	r := rand.New(rand.NewSource(2))
	true, sample := precise.Pow, func() (x, y float64) {
		x = math.Exp2(r.Float64()*40 - 20)
		if r.Intn(2) == 0 {
			x = 1 + (r.Float64()-0.5)*0.9
		}
		limit := 709.0
		if d == types.F32 {
			limit = 88
		}
		return narrow(d, x), narrow(d, (2*r.Float64()-1)*limit/math.Abs(math.Log(x)))
	}
	if op == expr.OpAtan2 {
		true, sample = precise.Atan2, func() (x, y float64) {
			sign := func() float64 { return float64(1 - 2*r.Intn(2)) }
			x, y = sign()*math.Exp2(r.Float64()*20-10), sign()*math.Exp2(r.Float64()*20-10)
			return narrow(d, x), narrow(d, y)
		}
	}
	n := 3000
	if testing.Short() {
		n = 300
	}
	worst, at := 0.0, [2]float64{}
	for range n {
		x, y := sample()
		want := true(precise.Num(x), precise.Num(y))
		near, _ := want.Float64()
		if d == types.F32 && math.Abs(near) < 0x1p-126 || near == 0 || math.IsInf(narrow(d, near), 0) {
			continue
		}
		got := f(x, y)
		if got != got || math.IsInf(got, 0) {
			t.Fatalf("%s(%g, %g) = %g, want %g", op, x, y, got, near)
		}
		diff, _ := precise.Sub(precise.Num(got), want).Float64()
		if e := math.Abs(diff) / lastPlace(d, near); e > worst {
			worst, at = e, [2]float64{x, y}
		}
	}
	t.Logf("%s: %.3f ulp at %g", op, worst, at)
	if bound := stated(t, op.String(), d); !(worst <= bound) {
		t.Errorf("%s%v: %.3f ulp, stated %g", op, at, worst, bound)
	}
}

// TestPowConst checks the forms of constant exponents.
func TestPowConst(t *testing.T) {
	for _, d := range []types.DType{types.F32, types.F64} {
		for _, p := range []float64{0, 1, 2, 3, 4, -1, 0.5, -0.5} {
			x := &expr.Var{Name: "x", Type: d}
			e := Expand(expr.Bin(expr.OpPow, x, &expr.Float{V: p, Type: d}), false)
			if n := size(e); n > 16 {
				t.Errorf("pow(x, %g) has %d nodes", p, n)
			}
			f, err := eval.Func(e, x)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range special(d) {
				got, want := eval.Float(d, f(eval.OfFloat(d, v))), math.Pow(v, p)
				if math.Abs(want) < 0x1p-120 && want != 0 {
					continue // a product of roundings below the normal range
				}
				if !alike(d, got, want) {
					t.Errorf("%s: pow(%g, %g) = %g, want %g", d, v, p, got, narrow(d, want))
				}
			}
		}
	}
}

func size(e expr.Expr) int {
	n := 0
	expr.Walk(e, func(expr.Expr) bool { n++; return true })
	return n
}

// TestExpandLeavesNothing checks that what is left has instructions, and that the types still fit.
func TestExpandLeavesNothing(t *testing.T) {
	for _, d := range []types.DType{types.F32, types.F64} {
		x := &expr.Var{Name: "x", Type: d}
		var all []expr.Expr
		for _, f := range expr.Fns() {
			if f.Takes(d) {
				all = append(all, expr.Call(f, x))
			}
		}
		for _, o := range expr.Ops() {
			if o.Takes(d) {
				all = append(all, expr.Bin(o, x, x))
			}
		}
		for _, e := range all {
			got := Expand(e, false)
			if got.DType() != e.DType() {
				t.Errorf("%s became %s", e.DType(), got.DType())
			}
			expr.Walk(got, func(n expr.Expr) bool {
				switch n := n.(type) {
				case *expr.Unary:
					if functions[n.Fn] != nil {
						t.Errorf("%s is left in %s", n.Fn, expr.String(e))
					}
				case *expr.Binary:
					if n.A.DType().IsFloat() && (n.Op == expr.OpMod || n.Op == expr.OpFloorMod || n.Op == expr.OpPow || n.Op == expr.OpAtan2) {
						t.Errorf("%s is left in %s", n.Op, expr.String(e))
					}
				}
				return true
			})
		}
	}
	i := expr.NewVar("i")
	if e := expr.Bin(expr.OpMod, i, expr.Index(3)); Expand(e, false) != expr.Expr(e) {
		t.Error("a remainder of integers was touched")
	}
}
