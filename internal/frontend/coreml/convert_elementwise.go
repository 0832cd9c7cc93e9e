package coreml

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// activations are the fields of ActivationParams.
const activations = "linear:5{alpha:1f beta:2f} relu:10{} leaky:15{alpha:1f} thresholded:20{alpha:1f} prelu:25{alpha:1w} tanh:30{} scaledTanh:31{alpha:1f beta:2f} " +
	"sigmoid:40{} hard:41{alpha:1f beta:2f} elu:50{alpha:1f} softsign:60{} softplus:70{} parametricSoftplus:71{alpha:1w beta:2w}"

var elementwiseRows = slices.Concat([]row{
	{1460, "clampedReLU", "alpha:1f beta:2f", one(func(c *call) *graph.Value {
		y := c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: c.Float("alpha", 0)}, c.X(0))
		return c.Do(ops.Minimum, y, compose.Like(y, c.Float("beta", 0)))
	})},
	{1450, "oneHot", "oneHotVectorSize:1 axis:2 onValue:3f offValue:4f", one(func(c *call) *graph.Value {
		axis := frontend.Axis(c.Int("axis", 0), c.Rank(0)+1)
		return c.Apply(ops.OneHot, ops.OneHotAttrs{Depth: c.Int("oneHotVectorSize", 0), Axis: axis}, c.Cast(c.X(0), types.I64), compose.Number(types.F32, c.Float("onValue", 0)), compose.Number(types.F32, c.Float("offValue", 0)))
	})},
	{130, "activation", activations, one(func(c *call) *graph.Value { return c.activated(c.X(0), "") })},
	{220, "unary", "type:1 alpha:2f epsilon:3f shift:4f scale:5f", one(unary)},
	{245, "scale", "shapeScale:1s scale:2w hasBias:3 shapeBias:4s bias:5w", one(scale)}, {250, "bias", "shape:1s bias:2w", one(bias)},
	{230, "add", "alpha:1f", one(folded(ops.Add))}, {231, "multiply", "alpha:1f", one(folded(ops.Multiply))}, {260, "max", "", one(folded(ops.Maximum))}, {261, "min", "", one(folded(ops.Minimum))},
	{240, "average", "", one(func(c *call) *graph.Value {
		return c.Scaled(c.Fold(ops.Add, c.operands()...), 1/float64(c.data))
	})},
	{270, "dot", "cosineSimilarity:1", one(dot)},
	{660, "clip", "min:1f max:2f", one(func(c *call) *graph.Value {
		return c.Clipped(c.X(0), c.Float("min", 0), c.Float("max", 0))
	})},
	{700, "exp2", "", one(func(c *call) *graph.Value { return c.Do(ops.Exp, c.Scaled(c.X(0), 0.6931471805599453)) })},
	{795, "gelu", "mode:1", one(gelu)}, {850, "logicalNot", "", one(func(c *call) *graph.Value { return c.number(c.Do(ops.LogicalNot, c.truth(0))) })},
	{1330, "whereBroadcastable", "", one(func(c *call) *graph.Value { return c.Do(ops.Where, c.truth(0), c.X(1), c.X(2)) })},
}, plainRows())

// plainRows are layers of one operand, of two that broadcast, and comparisons, without parameters but for a number in place of the second operand.
func plainRows() (rows []row) {
	for _, u := range []struct {
		number int
		name   string
		d      *op.Def
	}{{665, "ceil", ops.Ceil}, {670, "floor", ops.Floor}, {680, "sign", ops.Sign}, {685, "round", ops.Round}, {710, "sin", ops.Sin}, {715, "cos", ops.Cos}, {720, "tan", ops.Tan}, {730, "asin", ops.Asin}, {735, "acos", ops.Acos},
		{740, "atan", ops.Atan}, {750, "sinh", ops.Sinh}, {755, "cosh", ops.Cosh}, {760, "tanh", ops.Tanh}, {770, "asinh", ops.Asinh}, {775, "acosh", ops.Acosh}, {780, "atanh", ops.Atanh}, {790, "erf", ops.Erf}, {600, "copy", ops.Copy}} {
		rows = append(rows, row{u.number, u.name, "", one(func(c *call) *graph.Value { return c.Do(u.d, c.X(0)) })})
	}
	for _, b := range []struct {
		number int
		name   string
		d      *op.Def
	}{{865, "modBroadcastable", ops.FloorMod}, {870, "minBroadcastable", ops.Minimum}, {875, "maxBroadcastable", ops.Maximum}, {880, "addBroadcastable", ops.Add}, {885, "powBroadcastable", ops.Power},
		{890, "divideBroadcastable", ops.Divide}, {900, "multiplyBroadcastable", ops.Multiply}, {905, "subtractBroadcastable", ops.Subtract}} {
		rows = append(rows, row{b.number, b.name, "", one(func(c *call) *graph.Value { return c.Fold(b.d, c.operands()...) })})
	}
	rows = append(rows, row{895, "floorDivBroadcastable", "", one(func(c *call) *graph.Value { return c.Do(ops.Floor, c.Do(ops.Divide, c.X(0), c.X(1))) })})
	for _, b := range []struct {
		number       int
		name, schema string
		d            *op.Def
	}{{815, "equal", "alpha:1f", ops.Equal}, {820, "notEqual", "alpha:1f", ops.NotEqual}, {825, "lessThan", "alpha:2f", ops.Less}, {827, "lessEqual", "alpha:2f", ops.LessEqual},
		{830, "greaterThan", "alpha:2f", ops.Greater}, {832, "greaterEqual", "alpha:2f", ops.GreaterEqual}} {
		rows = append(rows, row{b.number, b.name, b.schema, one(func(c *call) *graph.Value {
			alpha := c.Float("alpha", 0)
			if c.data > 1 {
				return c.number(c.Do(b.d, c.X(0), c.X(1)))
			}
			return c.number(c.Do(b.d, c.X(0), compose.Like(c.X(0), alpha)))
		})})
	}
	for _, b := range []struct {
		number int
		name   string
		d      *op.Def
	}{{840, "logicalOr", ops.LogicalOr}, {845, "logicalXor", ops.LogicalXor}, {855, "logicalAnd", ops.LogicalAnd}} {
		rows = append(rows, row{b.number, b.name, "", one(func(c *call) *graph.Value { return c.number(c.Do(b.d, c.truth(0), c.truth(1))) })})
	}
	return rows
}

// Truth values are numbers, 0 being false.
func (c *call) truth(i int) *graph.Value           { return c.Cast(c.X(i), types.Bool) }
func (c *call) number(x *graph.Value) *graph.Value { return c.Cast(x, types.F32) }
func (c *call) index(x *graph.Value) *graph.Value  { return c.Cast(x, types.I64) }
func (c *call) plus(x *graph.Value, v float64) *graph.Value {
	if v == 0 {
		return x
	}
	return c.Do(ops.Add, x, compose.Like(x, v))
}

// activated is the function that a message, in attributes of a prefix, says.
func (c *call) activated(x *graph.Value, prefix string) *graph.Value {
	number := func(name string) float64 { return c.Float(prefix+name, 0) }
	kind := ""
	for _, name := range []string{"linear", "relu", "leaky", "thresholded", "prelu", "tanh", "scaledTanh", "sigmoid", "hard", "elu", "softsign", "softplus", "parametricSoftplus"} {
		if c.Has(prefix + name) {
			kind = name
			c.Ignore(prefix + name)
		}
	}
	channels := func() int {
		if x.Type.Rank() < 3 {
			compose.Fail("of %s: three axes or more are needed", x.Type)
		}
		return x.Type.Shape[x.Type.Rank()-3]
	}
	switch kind {
	case "linear":
		return c.plus(c.Scaled(x, number("linear.alpha")), number("linear.beta"))
	case "relu":
		return c.Do(ops.Relu, x)
	case "leaky":
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: number("leaky.alpha")}, x)
	case "thresholded":
		alpha := compose.Like(x, number("thresholded.alpha"))
		return c.Do(ops.Where, c.Do(ops.GreaterEqual, x, alpha), x, compose.Like(x, 0))
	case "prelu":
		return c.Prelu(x, c.vector("prelu.alpha", channels()))
	case "tanh":
		return c.Do(ops.Tanh, x)
	case "scaledTanh":
		return c.Scaled(c.Do(ops.Tanh, c.Scaled(x, number("scaledTanh.beta"))), number("scaledTanh.alpha"))
	case "sigmoid":
		return c.Do(ops.Sigmoid, x)
	case "hard":
		return c.Apply(ops.HardSigmoid, ops.HardSigmoidAttrs{Alpha: number("hard.alpha"), Beta: number("hard.beta")}, x)
	case "elu":
		return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: number("elu.alpha")}, x)
	case "softsign":
		return c.Do(ops.Softsign, x)
	case "softplus":
		return c.Do(ops.Softplus, x)
	case "parametricSoftplus":
		alpha, beta := c.vector("parametricSoftplus.alpha", channels()), c.vector("parametricSoftplus.beta", channels())
		return c.Do(ops.Multiply, alpha, c.Do(ops.Softplus, c.Do(ops.Multiply, beta, x)))
	}
	compose.Fail("its function is not known")
	return nil
}

// unary is a function of scale*x + shift.
func unary(c *call) *graph.Value {
	x := c.plus(c.Scaled(c.X(0), c.positive("scale", 1)), c.Float("shift", 0))
	alpha, epsilon := c.Float("alpha", 0), c.positive("epsilon", 1e-6)
	switch kind := c.Int("type", 0); kind {
	case 0:
		return c.Sqrt(x)
	case 1:
		return c.Do(ops.Rsqrt, c.plus(x, epsilon))
	case 2:
		return c.Do(ops.Reciprocal, c.plus(x, epsilon))
	case 3:
		return c.Do(ops.Power, x, compose.Like(x, alpha))
	case 4:
		return c.Do(ops.Exp, x)
	case 5:
		return c.Log(x)
	case 6:
		return c.Do(ops.Abs, x)
	case 7:
		return c.Do(ops.Maximum, x, compose.Like(x, alpha))
	default:
		compose.Fail("function %d is not supported", kind)
	}
	return nil
}

// block is a weight of channels, or of channels, height and width, as it broadcasts to the last three axes.
func (c *call) block(name, shape string) *graph.Value {
	s := c.Ints(shape)
	switch len(s) {
	case 1:
		s = append(s, 1, 1)
	case 3:
	default:
		compose.Fail("%s %v", shape, s)
	}
	return c.weight(name, s...)
}

func scale(c *call) *graph.Value {
	y := c.Do(ops.Multiply, c.X(0), c.block("scale", "shapeScale"))
	if c.Bool("hasBias", false) {
		return c.Do(ops.Add, y, c.block("bias", "shapeBias"))
	}
	c.Ignore("shapeBias")
	return y
}

func bias(c *call) *graph.Value { return c.Do(ops.Add, c.X(0), c.block("bias", "shape")) }

// folded joins operands, or one with a number.
func folded(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		alpha := c.Float("alpha", 0)
		if c.data == 1 && (d == ops.Add || d == ops.Multiply) {
			return c.Do(d, c.X(0), compose.Like(c.X(0), alpha))
		}
		return c.Fold(d, c.operands()...)
	}
}

// dot is the sum of products along axis -3, of vectors of length 1 where it is a similarity.
func dot(c *call) *graph.Value {
	c.WantRank(0, 3)
	axis := c.Rank(0) - 3
	x, y := c.X(0), c.X(1)
	if c.Bool("cosineSimilarity", false) {
		x = c.Apply(ops.L2Normalize, ops.L2NormalizeAttrs{Axis: []int{axis}, Epsilon: 0}, x)
		y = c.Apply(ops.L2Normalize, ops.L2NormalizeAttrs{Axis: []int{axis}, Epsilon: 0}, y)
	}
	return c.Reduce(ops.Sum, c.Do(ops.Multiply, x, y), true, axis)
}

func gelu(c *call) *graph.Value {
	switch mode := c.Int("mode", 0); mode {
	case 0:
		return c.Gelu(c.X(0))
	case 1:
		return c.GeluTanh(c.X(0))
	case 2:
		return c.Swish(c.X(0), 1.702)
	default:
		compose.Fail("mode %d is not supported", mode)
	}
	return nil
}
