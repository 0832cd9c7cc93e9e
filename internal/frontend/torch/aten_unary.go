package torch

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// unary makes a row of a function of one tensor of floats; integers become floats.
func unary(names string, d *op.Def) row {
	return sig(names, "self", func(c *call) any { return c.number(c.Do(d, c.float("self")), "self") })
}

// keeping makes a row of a function that integers have too.
func keeping(names string, d *op.Def) row {
	return sig(names, "self", func(c *call) any { return c.number(c.Do(d, c.x("self")), "self") })
}

// rounding makes a row of a function that leaves integers as they are.
func rounding(names string, d *op.Def) row {
	return sig(names, "self", func(c *call) any {
		if x := c.x("self"); x.Type.DType.IsFloat() {
			return c.number(c.Do(d, x), "self")
		}
		return c.x("self")
	})
}

// formula makes a row of a function that is a composition.
func formula(names string, f func(c *call, x *graph.Value) *graph.Value) row {
	return sig(names, "self", func(c *call) any { return f(c, c.float("self")) })
}

var unaryRows = []row{
	unary("exp", ops.Exp), unary("log", ops.Log), unary("log1p", ops.Log1p), unary("expm1", ops.Expm1), unary("sqrt", ops.Sqrt), unary("rsqrt", ops.Rsqrt), unary("erf", ops.Erf),
	unary("sin", ops.Sin), unary("cos", ops.Cos), unary("tan", ops.Tan), unary("asin arcsin", ops.Asin), unary("acos arccos", ops.Acos), unary("atan arctan", ops.Atan),
	unary("sinh", ops.Sinh), unary("cosh", ops.Cosh), unary("asinh arcsinh", ops.Asinh), unary("acosh arccosh", ops.Acosh), unary("atanh arctanh", ops.Atanh),
	unary("reciprocal", ops.Reciprocal), unary("isnan", ops.IsNaN),
	keeping("neg negative", ops.Negative), keeping("sign sgn", ops.Sign), keeping("bitwise_not", ops.BitwiseNot),
	rounding("floor", ops.Floor), rounding("ceil", ops.Ceil), rounding("trunc fix", ops.Trunc), rounding("round", ops.Round),
	sig("abs absolute", "self", func(c *call) any {
		if c.t("self").complex {
			return c.magnitude(c.x("self"))
		}
		return c.Do(ops.Abs, c.x("self"))
	}),
	sig("nan_to_num", "self nan:n posinf:n neginf:n", nanToNum),
	sig("logical_not __not__", "self", func(c *call) any { return c.number(c.Do(ops.LogicalNot, c.Cast(c.x("self"), types.Bool)), "self") }),
	sig("clamp clip", "self:T min:n max:n", clamp), sig("clamp clip", "self:T min max", clampBy),
	sig("clamp_min", "self:T min:n", clamp), sig("clamp_max", "self:T max:n", clamp), sig("clamp_min", "self:T min", clampBy), sig("clamp_max", "self:T max", clampBy),
	sig("fill", "self value", func(c *call) any { return c.filled(c.args["value"]) }),
	sig("zero", "self", func(c *call) any { return c.filled(int64(0)) }),
}

// filled is a tensor of self's shape with one value everywhere.
func (c *call) filled(v value) any {
	x := c.x("self")
	n := c.operand(v, x.Type.DType)
	if known := n.Value(); known != nil {
		return c.Filled(known, x.Type.Shape...)
	}
	return c.BroadcastTo(n, x.Type.Shape...)
}

// bounded limits x to [low, high]. Bounds that are infinite are none.
func (c *call) bounded(x *graph.Value, low, high float64) *graph.Value {
	a := ops.ClipAttrs{Min: low, Max: high, HasMin: !math.IsInf(low, -1), HasMax: !math.IsInf(high, 1)}
	if !a.HasMin {
		a.Min = 0
	}
	if !a.HasMax {
		a.Max = 0
	}
	return c.Apply(ops.Clip, a, x)
}

// clamp limits by numbers, which can make floats of integers.
func clamp(c *call) any {
	x := c.Cast(c.x("self"), c.common(c.args["self"], c.args["min"], c.args["max"]))
	return c.bounded(x, c.num("min", math.Inf(-1)), c.num("max", math.Inf(1)))
}

// clampBy limits by tensors.
func clampBy(c *call) any {
	d := c.common(c.args["self"], c.args["min"], c.args["max"])
	x := c.Cast(c.x("self"), d)
	if c.given("min") {
		x = c.Do(ops.Maximum, x, c.operand(c.args["min"], d))
	}
	if c.given("max") {
		x = c.Do(ops.Minimum, x, c.operand(c.args["max"], d))
	}
	return x
}

func nanToNum(c *call) any {
	x := c.float("self")
	top := map[types.DType]float64{types.F16: 65504, types.BF16: math.Float64frombits(0x47EFE00000000000), types.F32: math.MaxFloat32, types.F64: math.MaxFloat64}[x.Type.DType]
	y := c.Do(ops.Where, c.Do(ops.IsNaN, x), like(x, c.num("nan", 0)), x)
	y = c.Do(ops.Where, c.Do(ops.Equal, y, like(x, math.Inf(1))), like(x, c.num("posinf", top)), y)
	return c.Do(ops.Where, c.Do(ops.Equal, y, like(x, math.Inf(-1))), like(x, c.num("neginf", -top)), y)
}

// magnitude is the absolute value of complex numbers, whose parts lie along the last axis.
func (m *machine) magnitude(x *graph.Value) *graph.Value {
	return m.Do(ops.Sqrt, m.SumSquare(x, false, x.Type.Rank()-1))
}
