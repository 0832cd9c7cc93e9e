package ops

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/types"
)

// The functions of one operand without attributes. Those that package expr has a function for are one row of call.
var (
	Exp   = call("exp", "e to the power x.", expr.FnExp, math.Exp)
	Log   = call("log", "the natural logarithm; of 0 -Inf, of negative numbers NaN.", expr.FnLog, math.Log)
	Log1p = call("log1p", "log(1 + x), accurate near 0.", expr.FnLog1p, math.Log1p)
	Expm1 = call("expm1", "exp(x) - 1, accurate near 0.", expr.FnExpm1, math.Expm1)
	Sqrt  = call("sqrt", "the square root; of negative numbers NaN.", expr.FnSqrt, math.Sqrt)
	Rsqrt = call("rsqrt", "1 / sqrt(x).", expr.FnRsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) })
	Tanh  = call("tanh", "the hyperbolic tangent.", expr.FnTanh, math.Tanh)
	Erf   = call("erf", "the error function.", expr.FnErf, math.Erf)
	Sin   = call("sin", "the sine of x in radians.", expr.FnSin, math.Sin)
	Cos   = call("cos", "the cosine of x in radians.", expr.FnCos, math.Cos)
	Tan   = call("tan", "the tangent of x in radians.", expr.FnTan, math.Tan)
	Asin  = call("asin", "the inverse sine, in radians.", expr.FnAsin, math.Asin)
	Acos  = call("acos", "the inverse cosine, in radians.", expr.FnAcos, math.Acos)
	Atan  = call("atan", "the inverse tangent, in radians.", expr.FnAtan, math.Atan)
	Sinh  = call("sinh", "the hyperbolic sine.", expr.FnSinh, math.Sinh)
	Cosh  = call("cosh", "the hyperbolic cosine.", expr.FnCosh, math.Cosh)
	Asinh = call("asinh", "the inverse hyperbolic sine.", expr.FnAsinh, math.Asinh)
	Acosh = call("acosh", "the inverse hyperbolic cosine.", expr.FnAcosh, math.Acosh)
	Atanh = call("atanh", "the inverse hyperbolic tangent.", expr.FnAtanh, math.Atanh)
	Floor = call("floor", "the greatest whole number not above x.", expr.FnFloor, math.Floor)
	Ceil  = call("ceil", "the least whole number not below x.", expr.FnCeil, math.Ceil)
	Trunc = call("trunc", "x without its fraction.", expr.FnTrunc, math.Trunc)
	Round = call("round", "the nearest whole number, ties to even.", expr.FnRound, math.RoundToEven)

	Sigmoid    = call("sigmoid", "1 / (1 + exp(-x)).", expr.FnSigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) })
	Reciprocal = unary(unaryRow{
		name: "reciprocal", doc: "1 / x.", kind: floats,
		body:  func(x expr.Expr) expr.Expr { return expr.Div(one(x), x) },
		float: func(x float64) float64 { return 1 / x },
	})
	Softplus = unary(unaryRow{
		name: "softplus", doc: "log(1 + exp(x)), without overflow for great x.", kind: floats,
		body: softplus, float: softplusFloat,
	})
	Softsign = unary(unaryRow{
		name: "softsign", doc: "x / (1 + |x|).", kind: floats,
		body:  func(x expr.Expr) expr.Expr { return expr.Div(x, expr.Add(one(x), expr.Call(expr.FnAbs, x))) },
		float: func(x float64) float64 { return x / (1 + math.Abs(x)) },
	})
	Mish = unary(unaryRow{
		name: "mish", doc: "x * tanh(softplus(x)).", kind: floats,
		body:  func(x expr.Expr) expr.Expr { return expr.Mul(x, expr.Call(expr.FnTanh, softplus(x))) },
		float: func(x float64) float64 { return x * math.Tanh(softplusFloat(x)) },
	})
	HardSwish = unary(unaryRow{
		name: "hard_swish", doc: "x * max(0, min(1, x/6 + 1/2)).", kind: floats,
		body: func(x expr.Expr) expr.Expr {
			return expr.Mul(x, expr.Max(expr.Min(expr.Add(expr.Mul(x, like(x, 1.0/6)), like(x, 0.5)), one(x)), zero(x)))
		},
		float: func(x float64) float64 { return x * max(0, min(1, x/6+0.5)) },
	})

	Negative = unary(unaryRow{
		name: "negative", doc: "-x; integers wrap.", kind: numbers,
		body:    func(x expr.Expr) expr.Expr { return expr.Call(expr.FnNeg, x) },
		float:   func(x float64) float64 { return -x },
		integer: func(_ types.DType, x int64) int64 { return -x },
	})
	Abs = unary(unaryRow{
		name: "abs", doc: "|x|; the least integer of a type stays itself.", kind: numbers,
		body:  func(x expr.Expr) expr.Expr { return expr.Call(expr.FnAbs, x) },
		float: math.Abs,
		integer: func(d types.DType, x int64) int64 {
			if d.IsSigned() && x < 0 {
				return -x
			}
			return x
		},
	})
	Sign = unary(unaryRow{
		name: "sign", doc: "-1, 0 or 1; NaN stays NaN.", kind: numbers,
		body: func(x expr.Expr) expr.Expr {
			rest := x // 0 or NaN for floats, 0 or negative for integers
			if x.DType().IsFloat() || x.DType().IsSigned() {
				rest = expr.If(expr.LT(x, zero(x)), like(x, -1), x)
			}
			return expr.If(expr.Bin(expr.OpGT, x, zero(x)), one(x), rest)
		},
		float: func(x float64) float64 {
			switch {
			case x > 0:
				return 1
			case x < 0:
				return -1
			}
			return x
		},
		integer: func(d types.DType, x int64) int64 {
			switch {
			case x == 0:
				return 0
			case x < 0 && d.IsSigned():
				return -1
			}
			return 1
		},
	})
	Relu = unary(unaryRow{
		name: "nn.relu", doc: "max(x, 0); NaN stays NaN.", kind: numbers,
		body:  func(x expr.Expr) expr.Expr { return expr.Max(x, zero(x)) },
		float: func(x float64) float64 { return max(x, 0) },
		integer: func(d types.DType, x int64) int64 {
			if d.IsSigned() {
				return max(x, 0)
			}
			return x
		},
	})
	Copy = unary(unaryRow{
		name: "copy", doc: "x.", kind: anything, identity: true,
		body:    func(x expr.Expr) expr.Expr { return x },
		float:   func(x float64) float64 { return x },
		integer: func(_ types.DType, x int64) int64 { return x },
	})
	IsNaN = unary(unaryRow{
		name: "isnan", doc: "whether x is NaN.", kind: floats, result: types.Bool,
		body:  func(x expr.Expr) expr.Expr { return expr.Call(expr.FnIsNaN, x) },
		float: func(x float64) float64 { return oneIf(math.IsNaN(x)) },
	})
	LogicalNot = unary(unaryRow{
		name: "logical_not", doc: "whether x is false.", kind: booleans,
		body:    func(x expr.Expr) expr.Expr { return expr.Call(expr.FnNot, x) },
		integer: func(_ types.DType, x int64) int64 { return 1 - x },
	})
	BitwiseNot = unary(unaryRow{
		name: "bitwise_not", doc: "x with every bit inverted; logical for bool.", kind: bitFields,
		body: func(x expr.Expr) expr.Expr { return expr.Call(expr.FnNot, x) },
		integer: func(d types.DType, x int64) int64 {
			if d == types.Bool {
				return 1 - x
			}
			return ^x
		},
	})
)

// A unaryRow is a pointwise operator without attributes. integer returns what wraps to the element.
type unaryRow struct {
	name, doc string
	kind      kind
	result    types.DType
	body      func(x expr.Expr) expr.Expr
	float     func(x float64) float64
	integer   func(d types.DType, x int64) int64
	identity  bool
}

func unary(u unaryRow) *op.Def {
	p := pointwise[op.None]{
		name: u.name, doc: u.doc, kind: u.kind, result: u.result, identity: u.identity,
		body:  func(_ op.None, x expr.Expr) expr.Expr { return u.body(x) },
		float: func(_ op.None, x float64) float64 { return u.float(x) },
	}
	if u.integer != nil {
		p.integer = func(_ op.None, d types.DType, x int64) int64 { return u.integer(d, x) }
	}
	return p.define()
}

func call(name, doc string, fn expr.Fn, f func(float64) float64) *op.Def {
	return unary(unaryRow{
		name: name, doc: doc, kind: floats, float: f,
		body: func(x expr.Expr) expr.Expr { return expr.Call(fn, x) },
	})
}

// softplus is max(x, 0) + log(1 + exp(-|x|)), whose exp does not overflow.
func softplus(x expr.Expr) expr.Expr {
	e := expr.Call(expr.FnExpNeg, expr.Call(expr.FnNeg, expr.Call(expr.FnAbs, x)))
	return expr.Add(expr.Max(x, zero(x)), expr.Call(expr.FnLog1p, e))
}

func softplusFloat(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

func oneIf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
