package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// unaryRows are functions of one element. Of 8 bits they are a table of 256 entries.
var unaryRows = []row{
	{"ABS", unary(apply(ops.Abs))}, {"CEIL", unary(apply(ops.Ceil))}, {"COS", unary(apply(ops.Cos))}, {"EXP", unary(apply(ops.Exp))},
	{"FLOOR", unary(apply(ops.Floor))}, {"LOG", unary(apply(ops.Log))}, {"LOGISTIC", unary(apply(ops.Sigmoid))}, {"NEG", unary(apply(ops.Negative))},
	{"ROUND", unary(apply(ops.Round))}, {"RSQRT", unary(apply(ops.Rsqrt))}, {"SIGN", unary(apply(ops.Sign))}, {"SIN", unary(apply(ops.Sin))},
	{"SQRT", unary(apply(ops.Sqrt))}, {"TANH", unary(apply(ops.Tanh))}, {"HARD_SWISH", unary(apply(ops.HardSwish))},
	{"SQUARE", unary(func(c *call) *graph.Value { return c.Do(ops.Multiply, c.X(0), c.X(0)) })},
	{"ELU", unary(func(c *call) *graph.Value { return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: 1}, c.X(0)) })},
	{"GELU", unary(gelu)}, {"LEAKY_RELU", leakyRelu},
	{"RELU", unary(apply(ops.Relu))}, {"RELU6", unary(clip(0, 6))}, {"RELU_N1_TO_1", unary(clip(-1, 1))}, {"RELU_0_TO_1", unary(clip(0, 1))},
	{"FAKE_QUANT", one(fakeQuant)}, {"LOGICAL_NOT", one(apply(ops.LogicalNot))}, {"CAST", one(cast)}, {"BITCAST", one(func(c *call) *graph.Value { return tfops.Bitcast(c.Call, c.X(0), c.resultType()) })},
	{"ZEROS_LIKE", one(func(c *call) *graph.Value { return c.Full(c.X(0).Type.DType, 0, c.Shape(0)...) })},
}

// binaryRows are functions of two elements or three; operands broadcast.
var binaryRows = []row{
	{"DIV", real(one(func(c *call) *graph.Value { return c.activated(c.Do(ops.Divide, c.X(0), c.X(1))) }))},
	{"FLOOR_DIV", one(apply2(ops.FloorDivide))}, {"FLOOR_MOD", one(apply2(ops.FloorMod))},
	{"POW", real(one(apply2(ops.Power)))}, {"ATAN2", real(one(apply2(ops.Atan2)))}, {"PRELU", real(one(apply2(ops.Prelu)))},
	{"SQUARED_DIFFERENCE", real(shared(tfops.SquaredDifference))},
	{"MAXIMUM", extreme(ops.Maximum)}, {"MINIMUM", extreme(ops.Minimum)},
	{"EQUAL", compare(ops.Equal)}, {"NOT_EQUAL", compare(ops.NotEqual)}, {"LESS", compare(ops.Less)}, {"LESS_EQUAL", compare(ops.LessEqual)},
	{"GREATER", compare(ops.Greater)}, {"GREATER_EQUAL", compare(ops.GreaterEqual)},
	{"LOGICAL_AND", one(apply2(ops.LogicalAnd))}, {"LOGICAL_OR", one(apply2(ops.LogicalOr))},
	{"BITWISE_XOR", one(apply2(ops.BitwiseXor))}, {"RIGHT_SHIFT", one(apply2(ops.RightShift))},
	{"ADD_N", real(one(func(c *call) *graph.Value { return c.Fold(ops.Add, c.All()...) }))},
	{"SELECT", selects}, {"SELECT_V2", selects},
}

func apply(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value { return c.Do(d, c.X(0)) }
}

func apply2(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value { return c.Do(d, c.X(0), c.X(1)) }
}

func clip(lo, hi float64) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		return c.Apply(ops.Clip, ops.ClipAttrs{Min: lo, Max: hi, HasMin: true, HasMax: true}, c.X(0))
	}
}

// unary is a row of a function of one element.
func unary(f func(c *call) *graph.Value) func(c *call) values {
	plain := real(one(f))
	return func(c *call) values {
		if from, to := c.from(0), c.to(0); from.quantized() && to.quantized() && from.elem.bytes() == 1 && to.elem.bytes() == 1 {
			return values{c.tabled(c.X(0), from, to, func(x *graph.Value) *graph.Value { return f(c.with(x)) })}
		}
		return plain(c)
	}
}

func gelu(c *call) *graph.Value {
	if c.Bool("approximate", false) {
		return c.GeluTanh(c.X(0))
	}
	return c.Gelu(c.X(0))
}

// extreme compares integers of one scale as they are.
func extreme(d *op.Def) func(c *call) values {
	plain := real(one(apply2(d)))
	return func(c *call) values {
		if a, b := c.from(0), c.from(1); a.quantized() && a.sameScale(b) && a.sameScale(c.to(0)) {
			return values{c.Do(d, c.X(0), c.X(1))}
		}
		return plain(c)
	}
}

func compare(d *op.Def) func(c *call) values {
	plain := real(one(apply2(d)))
	return func(c *call) values {
		if a, b := c.from(0), c.from(1); a.quantized() && a.sameScale(b) {
			return values{c.Do(d, c.X(0), c.X(1))}
		}
		return plain(c)
	}
}

// selects is where; with SELECT the condition may be a vector that chooses rows.
func selects(c *call) values {
	condition, x, y := c.X(0), c.X(1), c.X(2)
	if c.Node.Op == "SELECT" {
		condition = tfops.Rows(c.Call, condition, x)
	}
	to := c.to(0)
	bring := func(v *graph.Value, i int) *graph.Value {
		if from := c.from(i); to.quantized() && from.quantized() && !from.sameScale(to) {
			return c.rescaled(v, from, to)
		}
		return v
	}
	return values{c.Do(ops.Where, condition, bring(x, 1), bring(y, 2))}
}

// fakeQuant rounds to what num_bits can tell apart between min and max, which are moved so that 0 is among them.
func fakeQuant(c *call) *graph.Value {
	lo, hi := c.Float("min", 0), c.Float("max", 0)
	bits, narrow := c.Int("num_bits", 0), c.Bool("narrow_range", false)
	if bits < 2 || bits > 16 || !(lo < hi) {
		compose.Fail("num_bits %d between %v and %v", bits, lo, hi)
	}
	least := 0.0
	if narrow {
		least = 1
	}
	most := float64(int(1)<<bits - 1)
	scale := float32(hi-lo) / float32(most-least)
	zero := roundAway(min(max(least-lo/float64(scale), least), most))
	x := c.Apply(ops.Clip, ops.ClipAttrs{Min: (least - zero) * float64(scale), Max: (most - zero) * float64(scale), HasMin: true, HasMax: true}, c.X(0))
	steps := c.Do(ops.Divide, x, compose.Like(x, float64(scale)))
	return c.Do(ops.Multiply, c.Do(ops.Floor, c.Do(ops.Add, steps, compose.Like(x, 0.5))), compose.Like(x, float64(scale)))
}

func cast(c *call) *graph.Value {
	c.Ignore("in_data_type", "out_data_type")
	return c.Cast(c.X(0), c.resultType())
}

// leakyRelu multiplies by one of two multipliers with 16 bits.
func leakyRelu(c *call) values {
	if from, to := c.from(0), c.to(0); from.quantized() && to.quantized() && (from.elem.bytes() == 2 || c.options().reference) {
		return values{c.leaky16(c.X(0), from, to, c.Float("alpha", 0))}
	}
	return unary(func(c *call) *graph.Value {
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: c.Float("alpha", 0)}, c.X(0))
	})(c)
}
