package tensorflow

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// unaryRows are functions of one element, and operators that leave their operand as it is.
var unaryRows = []row{
	{"Abs", do(ops.Abs)}, {"Neg", do(ops.Negative)}, {"Sign", do(ops.Sign)}, {"Floor", do(ops.Floor)}, {"Ceil", do(ops.Ceil)}, {"Round", do(ops.Round)}, {"Rint", do(ops.Round)},
	{"Exp", do(ops.Exp)}, {"Expm1", do(ops.Expm1)}, {"Log", do(ops.Log)}, {"Log1p", do(ops.Log1p)}, {"Sqrt", do(ops.Sqrt)}, {"Rsqrt", do(ops.Rsqrt)},
	{"Inv", do(ops.Reciprocal)}, {"Reciprocal", do(ops.Reciprocal)}, {"Erf", do(ops.Erf)}, {"Sin", do(ops.Sin)}, {"Cos", do(ops.Cos)}, {"Tan", do(ops.Tan)},
	{"Asin", do(ops.Asin)}, {"Acos", do(ops.Acos)}, {"Atan", do(ops.Atan)}, {"Sinh", do(ops.Sinh)}, {"Cosh", do(ops.Cosh)}, {"Tanh", do(ops.Tanh)},
	{"Asinh", do(ops.Asinh)}, {"Acosh", do(ops.Acosh)}, {"Atanh", do(ops.Atanh)}, {"Sigmoid", do(ops.Sigmoid)}, {"Relu", do(ops.Relu)}, {"Softplus", do(ops.Softplus)}, {"Softsign", do(ops.Softsign)},
	{"LogicalNot", do(ops.LogicalNot)}, {"Invert", do(ops.BitwiseNot)}, {"IsNan", do(ops.IsNaN)},
	{"Erfc", one(func(c *call) *graph.Value {
		y := c.Do(ops.Erf, c.X(0))
		return c.Do(ops.Subtract, compose.Like(y, 1), y)
	})},
	{"Relu6", one(func(c *call) *graph.Value { return c.Clipped(c.X(0), 0, 6) })},
	{"Elu", one(func(c *call) *graph.Value { return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: 1}, c.X(0)) })},
	{"Selu", one(func(c *call) *graph.Value { return c.Selu(c.X(0)) })},
	{"LeakyRelu", one(func(c *call) *graph.Value {
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: c.Float("alpha", float64(float32(0.2)))}, c.X(0))
	})},
	{"Square", one(func(c *call) *graph.Value { return c.Do(ops.Multiply, c.X(0), c.X(0)) })},
	{"IsInf", one(func(c *call) *graph.Value {
		return c.Apply(ops.IsInf, ops.IsInfAttrs{DetectPositive: true, DetectNegative: true}, c.X(0))
	})},
	{"IsFinite", one(isFinite)}, {"Cast", one(cast)}, {"Bitcast", one(func(c *call) *graph.Value { return tfops.Bitcast(c.Call, c.X(0), c.typeOf("type", types.Invalid)) })},
	{"OnesLike", one(like(1))}, {"ZerosLike", one(like(0))},

	{"Identity", identity}, {"RefIdentity", identity}, {"IdentityN", identity}, {"StopGradient", identity}, {"PreventGradient", identity}, {"CheckNumerics", identity}, {"CheckNumericsV2", identity}, {"Snapshot", identity},
	{"ReadVariableOp", identity}, {"PlaceholderWithDefault", identity}, {"EnsureShape", identity}, {"DebugGradientIdentity", identity}, {"DebugIdentity", identity}, {"Copy", identity}, {"DeepCopy", identity}, {"OptimizationBarrier", identity}, {"Print", identity},
	{"Dropout", one(func(c *call) *graph.Value { return c.X(0) })},
}

// identity leaves its operands as they are, lists too.
func identity(c *call) values {
	c.Ignore(c.Node.Attrs.Names()...)
	if len(c.In) == 0 || c.In[0] == nil {
		compose.Fail("it has no operand")
	}
	return c.In
}

// do is a row of an operator whose operands are its own.
func do(d *op.Def) func(c *call) values {
	return func(c *call) values {
		c.Ignore("out_type", "Toutput")
		return values{c.Do(d, c.X(0))}
	}
}

func do2(d *op.Def) func(c *call) values {
	return func(c *call) values { return values{c.Do(d, c.X(0), c.X(1))} }
}

func isFinite(c *call) *graph.Value {
	x := c.X(0)
	inf := c.Apply(ops.IsInf, ops.IsInfAttrs{DetectPositive: true, DetectNegative: true}, x)
	return c.Do(ops.LogicalNot, c.Do(ops.LogicalOr, inf, c.Do(ops.IsNaN, x)))
}

// cast cuts fractions off, as Cast does in a graph.
func cast(c *call) *graph.Value {
	c.Ignore("Truncate")
	return c.Cast(c.X(0), c.typeOf("DstT", types.Invalid))
}

func like(v float64) func(c *call) *graph.Value {
	return func(c *call) *graph.Value { return c.Full(c.X(0).Type.DType, v, c.Shape(0)...) }
}

// binaryRows are functions of two elements or three; operands broadcast.
var binaryRows = []row{
	{"Add", do2(ops.Add)}, {"AddV2", do2(ops.Add)}, {"Sub", do2(ops.Subtract)}, {"Mul", do2(ops.Multiply)}, {"RealDiv", do2(ops.Divide)}, {"Div", do2(ops.Divide)}, {"TruncateDiv", do2(ops.Divide)},
	{"FloorDiv", do2(ops.FloorDivide)}, {"FloorMod", do2(ops.FloorMod)}, {"Mod", do2(ops.Mod)}, {"TruncateMod", do2(ops.Mod)}, {"Maximum", do2(ops.Maximum)}, {"Minimum", do2(ops.Minimum)},
	{"Pow", do2(ops.Power)}, {"Atan2", do2(ops.Atan2)}, {"Less", do2(ops.Less)}, {"LessEqual", do2(ops.LessEqual)}, {"Greater", do2(ops.Greater)}, {"GreaterEqual", do2(ops.GreaterEqual)},
	{"Equal", compare(ops.Equal)}, {"NotEqual", compare(ops.NotEqual)}, {"ApproximateEqual", one(approximateEqual)},
	{"LogicalAnd", do2(ops.LogicalAnd)}, {"LogicalOr", do2(ops.LogicalOr)}, {"LogicalXor", do2(ops.LogicalXor)},
	{"BitwiseAnd", do2(ops.BitwiseAnd)}, {"BitwiseOr", do2(ops.BitwiseOr)}, {"BitwiseXor", do2(ops.BitwiseXor)}, {"LeftShift", do2(ops.LeftShift)}, {"RightShift", do2(ops.RightShift)},
	{"SquaredDifference", shared(tfops.SquaredDifference)},
	{"DivNoNan", guarded(1, ops.Divide)}, {"MulNoNan", guarded(1, ops.Multiply)},
	{"Xdivy", guarded(0, ops.Divide)}, {"Xlogy", one(xlogy(ops.Log))}, {"Xlog1py", one(xlogy(ops.Log1p))},
	{"AddN", one(func(c *call) *graph.Value { return c.Fold(ops.Add, c.All()...) })}, {"AccumulateNV2", one(func(c *call) *graph.Value { c.Ignore("shape"); return c.Fold(ops.Add, c.All()...) })},
	{"BiasAdd", one(biasAdd)}, {"BiasAddV1", one(biasAdd)}, {"Select", one(func(c *call) *graph.Value { return c.Do(ops.Where, tfops.Rows(c.Call, c.X(0), c.X(1)), c.X(1), c.X(2)) })}, {"SelectV2", one(func(c *call) *graph.Value { return c.Do(ops.Where, c.X(0), c.X(1), c.X(2)) })},
	{"ClipByValue", one(func(c *call) *graph.Value { return c.Do(ops.Maximum, c.Do(ops.Minimum, c.X(0), c.X(2)), c.X(1)) })},
	{"FakeQuantWithMinMaxArgs", one(fakeQuantArgs)}, {"FakeQuantWithMinMaxVars", one(fakeQuantVars)}, {"FakeQuantWithMinMaxVarsPerChannel", one(fakeQuantVars)},
}

// compare is of shapes that broadcast; others are unequal where the node says so.
func compare(d *op.Def) func(c *call) values {
	return func(c *call) values {
		c.Ignore("incompatible_shape_error")
		return values{c.Do(d, c.X(0), c.X(1))}
	}
}

func approximateEqual(c *call) *graph.Value {
	d := c.Do(ops.Abs, c.Do(ops.Subtract, c.X(0), c.X(1)))
	return c.Do(ops.Less, d, compose.Like(d, c.Float("tolerance", float64(float32(1e-5)))))
}

// guarded is d, and 0 wherever operand i is.
func guarded(i int, d *op.Def) func(c *call) values {
	return one(func(c *call) *graph.Value {
		y := c.Do(d, c.X(0), c.X(1))
		return c.Do(ops.Where, c.Do(ops.Equal, c.X(i), compose.Like(c.X(i), 0)), compose.Like(y, 0), y)
	})
}

// xlogy is x times a logarithm of y, and 0 where x is.
func xlogy(log *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		y := c.Do(ops.Multiply, c.X(0), c.Do(log, c.X(1)))
		return c.Do(ops.Where, c.Do(ops.Equal, c.X(0), compose.Like(c.X(0), 0)), compose.Like(y, 0), y)
	}
}

// biasAdd adds a vector along the channels.
func biasAdd(c *call) *graph.Value {
	x, b := c.X(0), c.X(1)
	if c.channelsLast() || x.Type.Rank() < 3 {
		return c.Do(ops.Add, x, b)
	}
	axes := make([]int, x.Type.Rank()-2)
	for k := range axes {
		axes[k] = 1 + k
	}
	return c.Do(ops.Add, x, c.ExpandDims(b, axes...))
}

func fakeQuantArgs(c *call) *graph.Value {
	return c.fakeQuant(compose.Number(types.F32, c.Float("min", -6)), compose.Number(types.F32, c.Float("max", 6)))
}

func fakeQuantVars(c *call) *graph.Value { return c.fakeQuant(c.X(1), c.X(2)) }

// fakeQuant rounds to what num_bits can tell apart between lo and hi, which are moved so that 0 is among them (fake_quant_ops_functor.h).
func (c *call) fakeQuant(lo, hi *graph.Value) *graph.Value {
	bits, least := c.Int("num_bits", 8), 0.0
	if c.Bool("narrow_range", false) {
		least = 1
	}
	if bits < 2 || bits > 16 {
		compose.Fail("num_bits is %d", bits)
	}
	most := math.Exp2(float64(bits)) - 1
	number := func(v float64) *graph.Value { return compose.Number(types.F32, v) }
	clip := func(x, lo, hi *graph.Value) *graph.Value { return c.Do(ops.Minimum, c.Do(ops.Maximum, x, lo), hi) }
	scale := c.Do(ops.Divide, c.Do(ops.Subtract, hi, lo), number(most-least))
	from := c.Do(ops.Subtract, number(least), c.Do(ops.Divide, lo, scale))
	zero := c.Do(ops.Floor, c.Do(ops.Add, clip(from, number(least), number(most)), number(0.5)))
	lo = c.Do(ops.Multiply, c.Do(ops.Subtract, number(least), zero), scale)
	hi = c.Do(ops.Multiply, c.Do(ops.Subtract, number(most), zero), scale)
	steps := c.Do(ops.Divide, c.Do(ops.Subtract, clip(c.X(0), lo, hi), lo), scale)
	return c.Do(ops.Add, c.Do(ops.Multiply, c.Do(ops.Floor, c.Do(ops.Add, steps, number(0.5))), scale), lo)
}
