package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var elementwiseRows = []row{
	{"Abs", "", 1, unary(ops.Abs)}, {"Acos", "", 7, unary(ops.Acos)}, {"Acosh", "", 9, unary(ops.Acosh)},
	{"Asin", "", 7, unary(ops.Asin)}, {"Asinh", "", 9, unary(ops.Asinh)}, {"Atan", "", 7, unary(ops.Atan)},
	{"Atanh", "", 9, unary(ops.Atanh)}, {"BitwiseNot", "", 18, unary(ops.BitwiseNot)}, {"Ceil", "", 1, unary(ops.Ceil)},
	{"Cos", "", 7, unary(ops.Cos)}, {"Cosh", "", 9, unary(ops.Cosh)}, {"Erf", "", 9, unary(ops.Erf)},
	{"Exp", "", 1, unary(ops.Exp)}, {"Floor", "", 1, unary(ops.Floor)}, {"HardSwish", "", 14, unary(ops.HardSwish)},
	{"IsNaN", "", 9, unary(ops.IsNaN)}, {"Log", "", 1, unary(ops.Log)}, {"Mish", "", 18, unary(ops.Mish)},
	{"Neg", "", 1, unary(ops.Negative)}, {"Not", "", 1, unary(ops.LogicalNot)}, {"Reciprocal", "", 1, unary(ops.Reciprocal)},
	{"Relu", "", 1, unary(ops.Relu)}, {"Round", "", 11, unary(ops.Round)}, {"Sigmoid", "", 1, unary(ops.Sigmoid)},
	{"Sign", "", 9, unary(ops.Sign)}, {"Sin", "", 7, unary(ops.Sin)}, {"Sinh", "", 9, unary(ops.Sinh)},
	{"Softplus", "", 1, unary(ops.Softplus)}, {"Softsign", "", 1, unary(ops.Softsign)}, {"Sqrt", "", 1, unary(ops.Sqrt)},
	{"Tan", "", 7, unary(ops.Tan)}, {"Tanh", "", 1, unary(ops.Tanh)},

	{"Celu", "", 12, alpha(ops.Celu, 1)}, {"Elu", "", 1, alpha(ops.Elu, 1)}, {"LeakyRelu", "", 1, alpha(ops.LeakyRelu, 0.01)},
	{"ThresholdedRelu", "", 1, alpha(ops.ThresholdedRelu, 1)},
	{"Selu", "", 1, one(selu(float64(float32(1.6732)), float64(float32(1.0507))))}, {"Selu", "", 6, one(selu(1.67326319217681884765625, 1.05070102214813232421875))},
	{"HardSigmoid", "", 1, one(hardSigmoid)}, {"Shrink", "", 9, one(shrink)}, {"Gelu", "", 20, one(gelu)}, {"Swish", "", 24, one(swish)},
	{"PRelu", "", 1, one(preluChannels)}, {"PRelu", "", 7, one(prelu)}, {"Clip", "", 1, one(clipAttrs)}, {"Clip", "", 11, one(clip)},
	{"ScaledTanh", "", 1, one(scaledTanh)}, {"ParametricSoftplus", "", 1, one(parametricSoftplus)}, {"Affine", "", 1, one(affine)},
	{"Scale", "", 1, one(scale)},

	{"Identity", "", 1, identity}, {"Dropout", "", 1, dropout}, {"IsInf", "", 10, one(isInf)},
	{"Cast", "", 1, one(castByName)}, {"Cast", "", 6, one(cast)}, {"CastLike", "", 15, one(castLike)},

	{"Add", "", 1, binary(ops.Add)}, {"Sub", "", 1, binary(ops.Subtract)}, {"Mul", "", 1, binary(ops.Multiply)},
	{"Div", "", 1, binary(ops.Divide)}, {"Pow", "", 1, one(pow)}, {"Mod", "", 10, one(mod)},
	{"And", "", 1, binary(ops.LogicalAnd)}, {"Or", "", 1, binary(ops.LogicalOr)}, {"Xor", "", 1, binary(ops.LogicalXor)},
	{"BitwiseAnd", "", 18, binary(ops.BitwiseAnd)}, {"BitwiseOr", "", 18, binary(ops.BitwiseOr)}, {"BitwiseXor", "", 18, binary(ops.BitwiseXor)},
	{"BitShift", "", 11, one(bitShift)},
	{"Equal", "", 1, binary(ops.Equal)}, {"Less", "", 1, binary(ops.Less)}, {"LessOrEqual", "", 12, binary(ops.LessEqual)},
	{"Greater", "", 1, binary(ops.Greater)}, {"GreaterOrEqual", "", 12, binary(ops.GreaterEqual)},
	{"Where", "", 9, one(where)},
	{"Max", "", 1, variadic(ops.Maximum)}, {"Min", "", 1, variadic(ops.Minimum)}, {"Sum", "", 1, variadic(ops.Add)}, {"Mean", "", 1, one(mean)},
}

// unary is an operator of one operand without attributes.
func unary(d *op.Def) func(c *call) values {
	return func(c *call) values { return values{c.Do(d, c.X(0))} }
}

// alpha is an operator whose attribute alpha has a default.
func alpha(d *op.Def, absent float64) func(c *call) values {
	return func(c *call) values {
		return values{c.Apply(d, ops.AlphaAttrs{Alpha: c.Float("alpha", absent)}, c.X(0))}
	}
}

func selu(alpha, gamma float64) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		return c.Apply(ops.Selu, ops.SeluAttrs{Alpha: c.Float("alpha", alpha), Gamma: c.Float("gamma", gamma)}, c.X(0))
	}
}

func hardSigmoid(c *call) *graph.Value {
	return c.Apply(ops.HardSigmoid, ops.HardSigmoidAttrs{Alpha: c.Float("alpha", 0.2), Beta: c.Float("beta", 0.5)}, c.X(0))
}

// shrink passes through F32 for integers, as numpy does.
func shrink(c *call) *graph.Value {
	x, a := c.X(0), ops.ShrinkAttrs{Lambda: c.Float("lambd", 0.5), Bias: c.Float("bias", 0)}
	if x.Type.DType.IsInt() {
		return c.Cast(c.Apply(ops.Shrink, a, c.Cast(x, types.F32)), x.Type.DType)
	}
	return c.Apply(ops.Shrink, a, x)
}

func gelu(c *call) *graph.Value {
	if c.OneOf("approximate", "none", "none", "tanh") == "tanh" {
		return c.GeluTanh(c.X(0))
	}
	return c.Gelu(c.X(0))
}

func swish(c *call) *graph.Value { return c.Swish(c.X(0), c.Float("alpha", 1)) }

func scaledTanh(c *call) *graph.Value {
	x := c.X(0)
	a, b := c.Float("alpha", 1), c.Float("beta", 1)
	return c.Do(ops.Multiply, compose.Like(x, a), c.Do(ops.Tanh, c.Do(ops.Multiply, compose.Like(x, b), x)))
}

func parametricSoftplus(c *call) *graph.Value {
	x := c.X(0)
	a, b := c.Float("alpha", 1), c.Float("beta", 1)
	return c.Do(ops.Multiply, compose.Like(x, a), c.Do(ops.Softplus, c.Do(ops.Multiply, compose.Like(x, b), x)))
}

func affine(c *call) *graph.Value {
	x := c.X(0)
	a, b := c.Float("alpha", 1), c.Float("beta", 0)
	return c.Do(ops.Add, c.Do(ops.Multiply, compose.Like(x, a), x), compose.Like(x, b))
}

func scale(c *call) *graph.Value {
	x := c.X(0)
	return c.Do(ops.Multiply, x, compose.Like(x, c.Float("scale", 1)))
}

// preluChannels is PRelu before opset 7: the slope is one number or one for each channel.
func preluChannels(c *call) *graph.Value {
	x, slope := c.X(0), c.X(1)
	if slope.Type.Rank() == 1 && slope.Type.Elements() > 1 && x.Type.Rank() > 2 {
		slope = c.ExpandDims(slope, axesFrom(1, x.Type.Rank()-1)...)
	}
	return c.sloped(x, slope)
}

func prelu(c *call) *graph.Value { return c.sloped(c.X(0), c.X(1)) }

// sloped is x with a slope below 0 that broadcasts to the data, but not the other way round.
func (c *call) sloped(x, slope *graph.Value) *graph.Value {
	y := c.Prelu(x, slope)
	if !slices.Equal(y.Type.Shape, x.Type.Shape) {
		compose.Fail("a slope of shape %v does not broadcast to data of shape %v", slope.Type.Shape, x.Type.Shape)
	}
	return y
}

// axesFrom lists [from, to).
func axesFrom(from, to int) []int {
	var list []int
	for a := from; a < to; a++ {
		list = append(list, a)
	}
	return list
}

func clipAttrs(c *call) *graph.Value {
	a := ops.ClipAttrs{HasMin: c.Has("min"), Min: c.Float("min", 0), HasMax: c.Has("max"), Max: c.Float("max", 0)}
	if a == (ops.ClipAttrs{}) {
		return c.X(0)
	}
	return c.Apply(ops.Clip, a, c.X(0))
}

// clip has its bounds as operands. Those that are not known, or beyond the range where every integer is a float64, are
// applied by maximum and minimum.
func clip(c *call) *graph.Value {
	x, a := c.X(0), ops.ClipAttrs{}
	exact := func(v *graph.Value) bool {
		t := v.Value()
		return t != nil && t.Len() == 1 && t.Float(0) == t.Float(0) && (t.DType.IsFloat() || t.DType.Size() < 8)
	}
	lo, hi := c.Opt(1), c.Opt(2)
	if lo != nil && !exact(lo) {
		x, lo = c.Do(ops.Maximum, x, lo), nil
	}
	if lo != nil {
		a.HasMin, a.Min = true, lo.Value().Float(0)
	}
	if hi != nil && exact(hi) {
		a.HasMax, a.Max, hi = true, hi.Value().Float(0), nil
	}
	if a != (ops.ClipAttrs{}) {
		x = c.Apply(ops.Clip, a, x)
	}
	if hi != nil {
		x = c.Do(ops.Minimum, x, hi)
	}
	return x
}

// identity passes its operand on, sequences included.
func identity(c *call) values {
	if !c.Present(0) {
		compose.Fail("operand 0 is missing")
	}
	return values{c.In[0]}
}

// dropout does nothing in inference; its mask, if anyone asks, keeps everything.
func dropout(c *call) values {
	c.Ignore("ratio", "seed", "is_test")
	if c.Present(2) {
		training := c.Known(2, "training_mode").Int(0) != 0
		ratio := 0.5
		if c.Present(1) {
			ratio = c.KnownFloat(1, "ratio")
		}
		if training && ratio != 0 {
			compose.Fail("training_mode is set, which is not supported")
		}
	}
	x := c.X(0)
	out := values{x}
	if len(c.Node.Out) > 1 && c.Node.Out[1] != "" {
		d := types.Bool
		if c.Node.Version < 10 {
			d = x.Type.DType
		}
		out = append(out, c.Full(d, 1, x.Type.Shape...))
	}
	return out
}

func isInf(c *call) *graph.Value {
	return c.Apply(ops.IsInf, ops.IsInfAttrs{DetectPositive: c.Bool("detect_positive", true), DetectNegative: c.Bool("detect_negative", true)}, c.X(0))
}

// castByName is Cast before opset 6, whose attribute names the type as TensorProto does.
func castByName(c *call) *graph.Value {
	name := c.Str("to", "")
	d, ok := map[string]types.DType{
		"FLOAT": types.F32, "DOUBLE": types.F64, "FLOAT16": types.F16, "BOOL": types.Bool, "INT8": types.I8, "INT16": types.I16,
		"INT32": types.I32, "INT64": types.I64, "UINT8": types.U8, "UINT16": types.U16, "UINT32": types.U32, "UINT64": types.U64,
	}[name]
	if !ok {
		compose.Fail("cast to %q is not supported", name)
	}
	return c.Cast(c.X(0), d)
}

func cast(c *call) *graph.Value {
	c.Ignore("saturate", "round_mode") // of narrower floats than there are here
	return c.Cast(c.X(0), c.DType("to", 0))
}

func castLike(c *call) *graph.Value {
	c.Ignore("saturate", "round_mode")
	return c.Cast(c.X(0), c.X(1).Type.DType)
}

// binary is an operator of two operands, which broadcast.
func binary(d *op.Def) func(c *call) values {
	return func(c *call) values {
		x, y := c.operands()
		return values{c.Do(d, x, y)}
	}
}

// operands are the two operands of a binary operator. Before opset 7 only the second broadcasts, and only by attribute:
// its axes stand at the place axis of the first.
func (c *call) operands() (x, y *graph.Value) {
	x, y = c.X(0), c.X(1)
	if c.Node.Version >= 7 {
		return x, y
	}
	at := c.Int("axis", -1)
	switch {
	case c.Int("broadcast", 0) == 0:
		if !slices.Equal(x.Type.Shape, y.Type.Shape) {
			compose.Fail("operands %s and %s differ in shape and attribute broadcast is not set", x.Type, y.Type)
		}
	case c.Has("axis"):
		at = frontend.Axis(at, x.Type.Rank())
		behind := x.Type.Rank() - at - y.Type.Rank()
		if behind < 0 {
			compose.Fail("%s does not fit into %s at axis %d", y.Type, x.Type, at)
		}
		y = c.ExpandDims(y, axesFrom(y.Type.Rank(), y.Type.Rank()+behind)...)
	}
	return x, y
}

// pow has the type of its base. An integer base with a float exponent is raised in float64.
func pow(c *call) *graph.Value {
	x, y := c.operands()
	d := x.Type.DType
	if !d.IsFloat() && y.Type.DType.IsFloat() {
		return c.Cast(c.Do(ops.Power, c.Cast(x, types.F64), c.Cast(y, types.F64)), d)
	}
	return c.Do(ops.Power, x, c.Cast(y, d))
}

// mod has the sign of the divisor, or of the dividend with fmod.
func mod(c *call) *graph.Value {
	d := ops.FloorMod
	if c.Bool("fmod", false) {
		d = ops.Mod
	}
	return c.Do(d, c.X(0), c.X(1))
}

func bitShift(c *call) *graph.Value {
	d := ops.LeftShift
	if c.OneOf("direction", "", "LEFT", "RIGHT") == "RIGHT" {
		d = ops.RightShift
	}
	return c.Do(d, c.X(0), c.X(1))
}

func where(c *call) *graph.Value { return c.Do(ops.Where, c.X(0), c.X(1), c.X(2)) }

// variadic folds any number of operands.
func variadic(d *op.Def) func(c *call) values {
	return func(c *call) values { return values{c.Fold(d, c.All()...)} }
}

func mean(c *call) *graph.Value {
	x := c.Fold(ops.Add, c.All()...)
	return c.Do(ops.Divide, x, compose.Like(x, float64(len(c.In))))
}
