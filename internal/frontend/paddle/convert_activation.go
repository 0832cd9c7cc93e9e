package paddle

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var activationRows = []row{
	unary("relu", ops.Relu), unary("sigmoid", ops.Sigmoid), unary("tanh", ops.Tanh), unary("softsign", ops.Softsign),
	{"relu6", one(func(c *call) *graph.Value { return c.Clipped(c.x(), 0, c.Float("threshold", 6)) })},
	{"brelu", one(func(c *call) *graph.Value { return c.Clipped(c.x(), c.Float("t_min", 0), c.Float("t_max", 24)) })},
	{"silu", one(func(c *call) *graph.Value { return c.Swish(c.x(), 1) })}, {"swish", one(func(c *call) *graph.Value { return c.Swish(c.x(), c.Float("beta", 1)) })},
	{"mish", one(func(c *call) *graph.Value { c.Ignore("threshold"); return c.Do(ops.Mish, c.x()) })},
	{"gelu", one(gelu)}, {"hard_sigmoid", one(hardSigmoid)}, {"hard_swish", one(hardSwish)}, {"softplus", one(softplus)}, {"prelu", one(prelu)},
	{"leaky_relu", one(func(c *call) *graph.Value {
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: c.Float("alpha", 0.02)}, c.x())
	})},
	{"elu", one(func(c *call) *graph.Value { return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: c.Float("alpha", 1)}, c.x()) })},
	{"celu", one(func(c *call) *graph.Value {
		return c.Apply(ops.Celu, ops.AlphaAttrs{Alpha: c.Float("alpha", 1)}, c.x())
	})},
	{"selu", one(func(c *call) *graph.Value {
		return c.Apply(ops.Selu, ops.SeluAttrs{Alpha: c.Float("alpha", 1.6732632423543772), Gamma: c.Float("scale", 1.0507009873554805)}, c.x())
	})},
	{"logsigmoid", one(func(c *call) *graph.Value { return c.LogSigmoid(c.x()) })},
	{"tanh_shrink", one(func(c *call) *graph.Value { return c.Do(ops.Subtract, c.x(), c.Do(ops.Tanh, c.x())) })},
	{"hard_shrink", one(func(c *call) *graph.Value {
		return c.Apply(ops.Shrink, ops.ShrinkAttrs{Lambda: c.Float("threshold", 0.5)}, c.x())
	})},
	{"softshrink", one(func(c *call) *graph.Value {
		by := c.Float("lambda", 0.5)
		return c.Apply(ops.Shrink, ops.ShrinkAttrs{Lambda: by, Bias: by}, c.x())
	})},
	{"thresholded_relu", one(func(c *call) *graph.Value {
		if c.Float("value", 0) != 0 {
			compose.Fail("with a value below the threshold other than 0 is not supported")
		}
		return c.Apply(ops.ThresholdedRelu, ops.AlphaAttrs{Alpha: c.Float("threshold", 1)}, c.x())
	})},
	{"stanh", one(func(c *call) *graph.Value {
		return c.Scaled(c.Do(ops.Tanh, c.Scaled(c.x(), c.Float("scale_a", 0.67))), c.Float("scale_b", 1.7159))
	})},
	{"softmax", one(func(c *call) *graph.Value {
		return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: c.axis("axis", -1)}, c.x())
	})},
	{"log_softmax", one(func(c *call) *graph.Value {
		return c.Apply(ops.LogSoftmax, ops.SoftmaxAttrs{Axis: c.axis("axis", -1)}, c.x())
	})},
	{"maxout", one(maxout)},
}

func gelu(c *call) *graph.Value {
	if c.Bool("approximate", false) {
		return c.GeluTanh(c.x())
	}
	return c.Gelu(c.x())
}

func hardSigmoid(c *call) *graph.Value {
	return c.Apply(ops.HardSigmoid, ops.HardSigmoidAttrs{Alpha: c.Float("slope", 0.2), Beta: c.Float("offset", 0.5)}, c.x())
}

// hardSwish is x * min(max(x + offset, 0), threshold) / scale.
func hardSwish(c *call) *graph.Value {
	x, threshold, by, offset := c.x(), c.Float("threshold", 6), c.Float("scale", 6), c.Float("offset", 3)
	if threshold == 6 && by == 6 && offset == 3 {
		return c.Do(ops.HardSwish, x)
	}
	return c.Scaled(c.Do(ops.Multiply, x, c.Clipped(c.Do(ops.Add, x, compose.Like(x, offset)), 0, threshold)), 1/by)
}

// softplus is log(1 + exp(beta x)) / beta; beyond the threshold of beta x, x is as good.
func softplus(c *call) *graph.Value {
	c.Ignore("threshold")
	beta := c.Float("beta", 1)
	return c.Scaled(c.Do(ops.Softplus, c.Scaled(c.x(), beta)), 1/beta)
}

// prelu has one slope, one for each channel, or one for each element of a sample.
func prelu(c *call) *graph.Value {
	x, slope := c.x(), c.operand("Alpha")
	last := c.Str("data_format", "NCHW") == "NHWC"
	switch c.OneOf("mode", "all", "all", "channel", "element") {
	case "all":
		slope = c.Scalar(slope)
	case "channel":
		n := slope.Type.Elements()
		if !last && x.Type.Rank() > 1 {
			slope = c.along(c.Reshape(slope, n), x, 1)
		} else {
			slope = c.Reshape(slope, n)
		}
	case "element":
		if slope.Type.Rank() != x.Type.Rank() {
			slope = c.Reshape(slope, append([]int{1}, x.Type.Shape[1:]...)...)
		}
	}
	return c.Prelu(x, slope)
}

// maxout is the greatest of each group of channels.
func maxout(c *call) *graph.Value {
	x, groups, axis := c.x(), c.Int("groups", 1), c.axis("axis", 1)
	s := x.Type.Shape
	if groups < 1 || s[axis]%groups != 0 {
		compose.Fail("%d groups of %d channels", groups, s[axis])
	}
	shape := append(append([]int{}, s[:axis]...), s[axis]/groups, groups)
	return c.Reduce(ops.Max, c.Reshape(x, append(shape, s[axis+1:]...)...), false, axis+1)
}
