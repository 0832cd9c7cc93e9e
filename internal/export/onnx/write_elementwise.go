package onnx

import (
	"math"
	"slices"

	"lathe/internal/ops"
	"lathe/internal/types"
)

var elementwiseRows = []row{
	{ops.Abs, as("Abs")}, {ops.Acos, as("Acos")}, {ops.Acosh, as("Acosh")}, {ops.Asin, as("Asin")}, {ops.Asinh, as("Asinh")},
	{ops.Atan, as("Atan")}, {ops.Atanh, as("Atanh")}, {ops.BitwiseNot, bitwise("Not")}, {ops.Ceil, as("Ceil")}, {ops.Copy, as("Identity")},
	{ops.Cos, as("Cos")}, {ops.Cosh, as("Cosh")}, {ops.Erf, as("Erf")}, {ops.Exp, as("Exp")}, {ops.Expm1, expm1}, {ops.Floor, as("Floor")},
	{ops.HardSwish, as("HardSwish")}, {ops.IsNaN, as("IsNaN")}, {ops.Log, as("Log")}, {ops.Log1p, log1p}, {ops.LogicalNot, as("Not")},
	{ops.Mish, as("Mish")}, {ops.Negative, as("Neg")}, {ops.Reciprocal, as("Reciprocal")}, {ops.Relu, as("Relu")}, {ops.Round, as("Round")},
	{ops.Rsqrt, rsqrt}, {ops.Sigmoid, as("Sigmoid")}, {ops.Sign, as("Sign")}, {ops.Sin, as("Sin")}, {ops.Sinh, as("Sinh")},
	{ops.Softplus, as("Softplus")}, {ops.Softsign, as("Softsign")}, {ops.Sqrt, as("Sqrt")}, {ops.Tan, as("Tan")}, {ops.Tanh, as("Tanh")},
	{ops.Trunc, trunc},

	{ops.Cast, cast}, {ops.Celu, alpha("Celu", 1)}, {ops.Clip, clip}, {ops.Elu, alpha("Elu", 1)}, {ops.HardSigmoid, hardSigmoid},
	{ops.IsInf, isInf}, {ops.LeakyRelu, alpha("LeakyRelu", 0.01)}, {ops.Selu, selu}, {ops.Shrink, shrink},
	{ops.ThresholdedRelu, alpha("ThresholdedRelu", 1)},

	{ops.Add, as("Add")}, {ops.Atan2, atan2}, {ops.BitwiseAnd, bitwise("And")}, {ops.BitwiseOr, bitwise("Or")}, {ops.BitwiseXor, bitwise("Xor")},
	{ops.Divide, as("Div")}, {ops.Equal, as("Equal")}, {ops.FloorDivide, floorDivide}, {ops.FloorMod, floorMod}, {ops.Greater, as("Greater")},
	{ops.GreaterEqual, as("GreaterOrEqual")}, {ops.LeftShift, leftShift}, {ops.Less, as("Less")}, {ops.LessEqual, as("LessOrEqual")},
	{ops.LogicalAnd, as("And")}, {ops.LogicalOr, as("Or")}, {ops.LogicalXor, as("Xor")}, {ops.Maximum, as("Max")}, {ops.Minimum, as("Min")},
	{ops.Mod, func(c *call) { c.op("Mod", Attr{"fmod", 1}) }}, {ops.Multiply, as("Mul")}, {ops.NotEqual, notEqual}, {ops.Power, as("Pow")},
	{ops.RightShift, rightShift}, {ops.Subtract, as("Sub")}, {ops.Prelu, prelu}, {ops.Where, as("Where")},
}

// as writes an operator that ONNX has under another name, without attributes.
func as(op string) func(c *call) { return func(c *call) { c.op(op) } }

// bitwise writes an operator that is the logical one for bool.
func bitwise(op string) func(c *call) {
	return func(c *call) {
		if c.dtype(0) == types.Bool {
			c.op(op)
		} else {
			c.op("Bitwise" + op)
		}
	}
}

// like is the name of a number of operand 0's type.
func (c *call) like(v float64) string { return c.number(c.dtype(0), v) }

// expm1 is 2t/(1-t) with t = tanh(x/2) near 0, where exp(x) - 1 loses its digits.
func expm1(c *call) {
	x := c.in(0)
	t := c.do("Tanh", c.do("Mul", x, c.like(0.5)))
	small := c.do("Div", c.do("Add", t, t), c.do("Sub", c.like(1), t))
	c.result("Where", c.do("Less", c.do("Abs", x), c.like(1)), small, c.do("Sub", c.do("Exp", x), c.like(1)))
}

// log1p is log(u) * x/(u-1) with u = 1+x rounded, and x where u is 1.
func log1p(c *call) {
	x := c.in(0)
	u := c.do("Add", x, c.like(1))
	log := c.do("Log", u)
	exact := c.do("Mul", log, c.do("Div", x, c.do("Sub", u, c.like(1))))
	small := c.do("Where", c.do("Equal", u, c.like(1)), x, exact)
	c.result("Where", c.do("Less", c.do("Abs", x), c.like(1)), small, log)
}

func rsqrt(c *call) { c.result("Reciprocal", c.do("Sqrt", c.in(0))) }

func trunc(c *call) {
	x := c.in(0)
	c.result("Where", c.do("Less", x, c.like(0)), c.do("Ceil", x), c.do("Floor", x))
}

func cast(c *call) { c.op("Cast", Attr{"to", ElemType(c.n.Attrs.(ops.CastAttrs).DType)}) }

func alpha(op string, absent float64) func(c *call) {
	return func(c *call) { c.op(op, float("alpha", c.n.Attrs.(ops.AlphaAttrs).Alpha, absent)) }
}

// clip has its bounds as operands.
func clip(c *call) {
	a := c.n.Attrs.(ops.ClipAttrs)
	in := []string{c.in(0), "", ""}
	if a.HasMin {
		in[1] = c.like(a.Min)
	}
	if a.HasMax {
		in[2] = c.like(a.Max)
	}
	c.opOf("Clip", in)
}

func hardSigmoid(c *call) {
	a := c.n.Attrs.(ops.HardSigmoidAttrs)
	c.op("HardSigmoid", float("alpha", a.Alpha, 0.2), float("beta", a.Beta, 0.5))
}

func isInf(c *call) {
	a := c.n.Attrs.(ops.IsInfAttrs)
	if d := c.dtype(0); d == types.F16 || d == types.BF16 {
		c.need(20)
	}
	c.op("IsInf", flag("detect_positive", a.DetectPositive, true), flag("detect_negative", a.DetectNegative, true))
}

func selu(c *call) {
	a := c.n.Attrs.(ops.SeluAttrs)
	c.op("Selu", float("alpha", a.Alpha, 1.67326319217681884765625), float("gamma", a.Gamma, 1.05070102214813232421875))
}

func shrink(c *call) {
	a := c.n.Attrs.(ops.ShrinkAttrs)
	c.op("Shrink", float("lambd", a.Lambda, 0.5), float("bias", a.Bias, 0))
}

// atan2 is the angle atan(y/x) in the half plane of x.
func atan2(c *call) {
	y, x, zero := c.in(0), c.in(1), c.like(0)
	right := c.do("Atan", c.do("Div", y, x))
	turn := c.do("Where", c.do("Less", y, zero), c.like(-math.Pi), c.like(math.Pi))
	above := c.do("Mul", c.do("Sign", y), c.like(math.Pi/2))
	left := c.do("Where", c.do("Less", x, zero), c.do("Add", right, turn), above)
	c.result("Where", c.do("Greater", x, zero), right, left)
}

func floorDivide(c *call) {
	a, b := c.in(0), c.in(1)
	if c.dtype(0).IsFloat() {
		c.result("Floor", c.do("Div", a, b))
		return
	}
	c.result("Div", c.do("Sub", a, c.do("Mod", a, b)), b)
}

// floorMod is Mod for integers. That of floats has the sign of the dividend, and is moved to the side of the divisor.
func floorMod(c *call) {
	if !c.dtype(0).IsFloat() {
		c.op("Mod")
		return
	}
	a, b, zero := c.in(0), c.in(1), c.like(0)
	m := c.step("Mod", []string{a, b}, Attr{"fmod", 1})
	other := c.do("Xor", c.do("Less", m, zero), c.do("Less", b, zero))
	c.result("Where", c.do("And", other, c.do("Not", c.do("Equal", m, zero))), c.do("Add", m, b), m)
}

// unsignedOf are the integers as whose bits ONNX shifts signed ones, of which it knows no shift.
var unsignedOf = map[types.DType]types.DType{types.I8: types.U8, types.I16: types.U16, types.I32: types.U32, types.I64: types.U64}

// leftShift and rightShift shift bits. A negative number is shifted right as its complement, so that the sign stays.
func leftShift(c *call) {
	attr := Attr{"direction", "LEFT"}
	u, signed := unsignedOf[c.dtype(0)]
	if !signed {
		c.op("BitShift", attr)
		return
	}
	c.opOf("Cast", []string{c.step("BitShift", []string{c.cast(c.in(0), u), c.cast(c.in(1), u)}, attr)}, Attr{"to", ElemType(c.dtype(0))})
}

func rightShift(c *call) {
	attr := Attr{"direction", "RIGHT"}
	d := c.dtype(0)
	u, signed := unsignedOf[d]
	if !signed {
		c.op("BitShift", attr)
		return
	}
	x, by := c.in(0), c.cast(c.in(1), u)
	negative := c.do("Less", x, c.like(0))
	x = c.do("Where", negative, c.do("BitwiseNot", x), x)
	x = c.cast(c.step("BitShift", []string{c.cast(x, u), by}, attr), d)
	negative = c.do("And", negative, c.do("Less", by, c.number(u, float64(d.Bits()))))
	c.result("Where", negative, c.do("BitwiseNot", x), x)
}

func notEqual(c *call) { c.result("Not", c.do("Equal", c.in(0), c.in(1))) }

// prelu has a slope that broadcasts to the data, but not the other way round.
func prelu(c *call) {
	x := c.in(0)
	if shape := c.resultShape(); !slices.Equal(shape, c.shape(0)) {
		x = c.do("Expand", x, c.intList(shape...))
	}
	c.result("PRelu", x, c.in(1))
}
