package keras

import (
	"strings"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

var activationRows = []row{
	{"Activation", unary((*call).activated)},
	{"ReLU", one(relu)}, {"LeakyReLU", one(leakyRelu)}, {"PReLU", one(prelu)}, {"ELU", one(elu)}, {"ThresholdedReLU", one(thresholdedRelu)},
	{"Softmax", one(softmax)},
	{"Dropout", same}, {"SpatialDropout1D", same}, {"SpatialDropout2D", same}, {"SpatialDropout3D", same}, {"AlphaDropout", same},
	{"GaussianDropout", same}, {"GaussianNoise", same}, {"ActivityRegularization", same}, {"InputLayer", same},
}

// same is what only matters in training.
func same(c *call) values {
	c.Ignore(c.Names()...)
	return values{c.X(0)}
}

// activations are functions by name, those of Keras 2 and of Keras 3.
var activations = map[string]func(c *call, x *graph.Value) *graph.Value{
	"linear":      func(c *call, x *graph.Value) *graph.Value { return x },
	"relu":        apply(ops.Relu),
	"relu6":       func(c *call, x *graph.Value) *graph.Value { return c.clip(x, 0, 6) },
	"sigmoid":     apply(ops.Sigmoid),
	"tanh":        apply(ops.Tanh),
	"softplus":    apply(ops.Softplus),
	"softsign":    apply(ops.Softsign),
	"exponential": apply(ops.Exp),
	"mish":        apply(ops.Mish),
	"hard_swish":  apply(ops.HardSwish),
	"hard_silu":   apply(ops.HardSwish),
	"swish":       func(c *call, x *graph.Value) *graph.Value { return c.Swish(x, 1) },
	"silu":        func(c *call, x *graph.Value) *graph.Value { return c.Swish(x, 1) },
	"gelu":        func(c *call, x *graph.Value) *graph.Value { return c.Gelu(x) },
	"elu":         func(c *call, x *graph.Value) *graph.Value { return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: 1}, x) },
	"selu":        func(c *call, x *graph.Value) *graph.Value { return c.selu(x) },
	"leaky_relu": func(c *call, x *graph.Value) *graph.Value {
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: 0.2}, x)
	},
	"hard_sigmoid": func(c *call, x *graph.Value) *graph.Value { return c.hardSigmoid(x) },
	"softmax":      func(c *call, x *graph.Value) *graph.Value { return c.onLast(ops.Softmax, x) },
	"log_softmax":  func(c *call, x *graph.Value) *graph.Value { return c.onLast(ops.LogSoftmax, x) },
}

func apply(d *op.Def) func(c *call, x *graph.Value) *graph.Value {
	return func(c *call, x *graph.Value) *graph.Value { return c.Do(d, x) }
}

// activated applies the function that the option activation names.
func (c *call) activated(x *graph.Value) *graph.Value {
	return c.function("activation", "linear")(c, x)
}

// function is the function that an option names.
func (c *call) function(option, absent string) func(c *call, x *graph.Value) *graph.Value {
	name := c.Str(option, absent)
	f, ok := activations[strings.ToLower(name)]
	if !ok {
		compose.Fail("activation %q is not supported", name)
	}
	return f
}

func (c *call) clip(x *graph.Value, lo, hi float64) *graph.Value {
	return c.Do(ops.Minimum, c.Do(ops.Maximum, x, compose.Like(x, lo)), compose.Like(x, hi))
}

// selu is scaled elu, with the constants of Klambauer et al., 2017.
func (c *call) selu(x *graph.Value) *graph.Value {
	const alpha, scale = 1.6732632423543772, 1.0507009873554805
	return c.Scaled(c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: alpha}, x), scale)
}

// hardSigmoid is x/5 + 1/2 before Keras 3 and x/6 + 1/2 from then on, within 0 and 1.
func (c *call) hardSigmoid(x *graph.Value) *graph.Value {
	slope := 0.2
	if c.Node.Version >= 3 {
		slope = 1. / 6
	}
	return c.Apply(ops.HardSigmoid, ops.HardSigmoidAttrs{Alpha: slope, Beta: 0.5}, x)
}

func (c *call) onLast(d *op.Def, x *graph.Value) *graph.Value {
	return c.Apply(d, ops.SoftmaxAttrs{Axis: x.Type.Rank() - 1}, x)
}

// relu is 0 or a slope below a threshold and bounded above by max_value.
func relu(c *call) *graph.Value {
	x := c.X(0)
	slope, threshold := c.Float("negative_slope", 0), c.Float("threshold", 0)
	bounded := c.Has("max_value")
	top := c.Float("max_value", 0)
	y := x
	switch {
	case threshold == 0 && slope == 0:
		y = c.Do(ops.Relu, x)
	case threshold == 0:
		y = c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: slope}, x)
	default:
		below := c.Scaled(c.Do(ops.Subtract, x, compose.Like(x, threshold)), slope)
		y = c.Do(ops.Where, c.Do(ops.GreaterEqual, x, compose.Like(x, threshold)), x, below)
	}
	if bounded {
		y = c.Do(ops.Minimum, y, compose.Like(x, top))
	}
	return y
}

func leakyRelu(c *call) *graph.Value {
	alpha := c.Float("alpha", 0.3)
	return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: c.Float("negative_slope", alpha)}, c.X(0))
}

func prelu(c *call) *graph.Value {
	c.Ignore("shared_axes") // the weights have extent 1 there
	return c.Prelu(c.X(0), c.weight(0))
}

func elu(c *call) *graph.Value {
	return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: c.Float("alpha", 1)}, c.X(0))
}

func thresholdedRelu(c *call) *graph.Value {
	return c.Apply(ops.ThresholdedRelu, ops.AlphaAttrs{Alpha: c.Float("theta", 1)}, c.X(0))
}

func softmax(c *call) *graph.Value {
	x := c.X(0)
	return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: frontend.Axis(c.Int("axis", -1), x.Type.Rank())}, x)
}
