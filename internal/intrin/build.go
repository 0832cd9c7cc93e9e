package intrin

import (
	"math"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// A poly holds the coefficients of a polynomial, lowest power first.
type poly []float64

// A build assembles one expansion in a float type: values that are used more than once are bound by Lets.
type build struct {
	format
	lets  *[]*expr.Let
	fused bool // products are not rounded before they are added
}

func newBuild(t types.DType, fused bool) *build {
	f := single
	if t == types.F64 {
		f = double
	}
	return &build{f, new([]*expr.Let), fused}
}

// in continues b in another type.
func (b *build) in(f format) *build { return &build{f, b.lets, b.fused} }

// A format is a float type and the integer type of the same width.
type format struct {
	t, i types.DType
	mant int // stored bits of the mantissa
	bias int64
}

var (
	single = format{types.F32, types.I32, 23, 127}
	double = format{types.F64, types.I64, 52, 1023}
)

// magic is 1.5 * 2^mant: the sum of it and a number below 2^(mant-1) is that number rounded to an integer, which stands in
// the low bits of the sum.
func (f format) magic() float64 { return math.Ldexp(1.5, f.mant) }

// oneBits is the pattern of 1.
func (f format) oneBits() int64 { return f.bias << f.mant }

// pick is one of two numbers, by type.
func (f format) pick(f32, f64 float64) float64 {
	if f.t == types.F64 {
		return f64
	}
	return f32
}

// let binds e, so that it is computed and rounded once.
func (b *build) let(name string, e expr.Expr) expr.Expr {
	switch e.(type) {
	case *expr.Var, *expr.Int, *expr.Float:
		return e
	}
	v := &expr.Var{Name: name, Type: e.DType()}
	*b.lets = append(*b.lets, &expr.Let{Var: v, Value: e})
	return v
}

// done puts the Lets around the result.
func (b *build) done(e expr.Expr) expr.Expr {
	for _, l := range slices.Backward(*b.lets) {
		e = &expr.Let{Var: l.Var, Value: l.Value, Body: e}
	}
	return e
}

// c is a constant of the float type.
func (b *build) c(v float64) expr.Expr {
	if b.t == types.F32 {
		v = float64(float32(v))
	}
	return &expr.Float{V: v, Type: b.t}
}

func (b *build) inf() expr.Expr { return b.c(math.Inf(1)) }
func (b *build) nan() expr.Expr { return b.c(math.NaN()) }

// n is a constant of the integer type.
func (b *build) n(v int64) expr.Expr { return &expr.Int{V: v, Type: b.i} }

// bits is the pattern of a float, float the float of a pattern.
func (b *build) bits(e expr.Expr) expr.Expr  { return &expr.Bits{To: b.i, A: e} }
func (b *build) float(e expr.Expr) expr.Expr { return &expr.Bits{To: b.t, A: e} }

// toExponent moves the low bits of an integer to where the exponent lies.
func (b *build) toExponent(e expr.Expr) expr.Expr { return bin(expr.OpShl, e, b.n(int64(b.mant))) }

// horner evaluates p at x, which is a variable or constant.
func (b *build) horner(p poly, x expr.Expr) expr.Expr {
	e := b.c(p[len(p)-1])
	for i := len(p) - 2; i >= 0; i-- {
		e = add(mul(e, x), b.c(p[i]))
	}
	return e
}

// copySign gives magnitude, which is not negative, the sign of x.
func (b *build) copySign(magnitude, x expr.Expr) expr.Expr {
	sign := bin(expr.OpAnd, b.bits(x), b.n(b.signBit()))
	return b.float(bin(expr.OpOr, b.bits(magnitude), sign))
}

func (b *build) signBit() int64 {
	lo, _ := b.i.IntRange()
	return lo
}

func bin(op expr.Op, x, y expr.Expr) expr.Expr { return expr.Bin(op, x, y) }
func add(x, y expr.Expr) expr.Expr             { return expr.Add(x, y) }
func sub(x, y expr.Expr) expr.Expr             { return expr.Sub(x, y) }
func mul(x, y expr.Expr) expr.Expr             { return expr.Mul(x, y) }
func div(x, y expr.Expr) expr.Expr             { return expr.Div(x, y) }
func lt(x, y expr.Expr) expr.Expr              { return expr.LT(x, y) }
func gt(x, y expr.Expr) expr.Expr              { return bin(expr.OpGT, x, y) }
func eq(x, y expr.Expr) expr.Expr              { return expr.EQ(x, y) }
func abs(x expr.Expr) expr.Expr                { return expr.Call(expr.FnAbs, x) }
func neg(x expr.Expr) expr.Expr                { return expr.Call(expr.FnNeg, x) }
func sqrt(x expr.Expr) expr.Expr               { return expr.Call(expr.FnSqrt, x) }
func pick(cond, yes, no expr.Expr) expr.Expr   { return &expr.Select{Cond: cond, A: yes, B: no} }
