package keras

import (
	"strings"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var activationRows = []row{
	{"Activation", unary((*call).activated)},
	{"ReLU", one(relu)}, {"LeakyReLU", one(leakyRelu)}, {"PReLU", one(prelu)}, {"ELU", one(elu)}, {"ThresholdedReLU", one(thresholdedRelu)},
	{"Softmax", one(softmax)},
	{"Dropout", same}, {"SpatialDropout1D", same}, {"SpatialDropout2D", same}, {"SpatialDropout3D", same}, {"AlphaDropout", same},
	{"GaussianDropout", same}, {"GaussianNoise", same}, {"ActivityRegularization", same}, {"InputLayer", same}, {"Identity", same},
	{"StochasticDepth", same}, {"FixedDropout", same}, // of keras.applications' ConvNeXt, and of EfficientNets before it had them
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
	"relu6":       func(c *call, x *graph.Value) *graph.Value { return c.Clipped(x, 0, 6) },
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
	"celu":        func(c *call, x *graph.Value) *graph.Value { return c.Apply(ops.Celu, ops.AlphaAttrs{Alpha: 1}, x) },
	"squareplus":  squareplus,
	"hard_tanh":   func(c *call, x *graph.Value) *graph.Value { return c.Clipped(x, -1, 1) },
	"log_sigmoid": func(c *call, x *graph.Value) *graph.Value { return c.LogSigmoid(x) },
	"tanh_shrink": func(c *call, x *graph.Value) *graph.Value { return c.Do(ops.Subtract, x, c.Do(ops.Tanh, x)) },
	"hard_shrink": func(c *call, x *graph.Value) *graph.Value { return c.shrink(x, 0.5, 0) },
	"soft_shrink": func(c *call, x *graph.Value) *graph.Value { return c.shrink(x, 0.5, 0.5) },
	"threshold":   func(c *call, x *graph.Value) *graph.Value { return c.Do(ops.Relu, x) },
	"glu":         func(c *call, x *graph.Value) *graph.Value { return c.Glu(x, x.Type.Rank()-1) },
	"sparse_plus": sparsePlus,
	"sparse_sigmoid": func(c *call, x *graph.Value) *graph.Value {
		return c.Clipped(c.Do(ops.Add, c.Scaled(x, 0.5), compose.Like(x, 0.5)), 0, 1)
	},
	"elu":  func(c *call, x *graph.Value) *graph.Value { return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: 1}, x) },
	"selu": func(c *call, x *graph.Value) *graph.Value { return c.Selu(x) },
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

// function is the function that an option names, or describes as a layer or a function with options of its own.
func (c *call) function(option, absent string) func(c *call, x *graph.Value) *graph.Value {
	if m, ok := c.Values[option].(map[string]any); ok {
		c.Ignore(option)
		return described(m)
	}
	name := c.Str(option, absent)
	f, ok := activations[strings.ToLower(name)]
	if !ok {
		compose.Fail("activation %q is not supported", name)
	}
	return f
}

// described is an activation that is a layer, {class_name: LeakyReLU, config}, or a function, {class_name: function, config: name}.
func described(m map[string]any) func(c *call, x *graph.Value) *graph.Value {
	class, _ := m["class_name"].(string)
	if text, ok := m["config"].(string); ok {
		class = text
	}
	name := strings.ToLower(snake(class))
	if f, ok := activations[name]; ok && m["config"] == nil || ok && class == m["config"] {
		return f
	}
	layers := map[string]func(c *call) *graph.Value{"ReLU": relu, "LeakyReLU": leakyRelu, "ELU": elu, "ThresholdedReLU": thresholdedRelu, "Softmax": softmax}
	config, ok := m["config"].(map[string]any)
	if !ok || layers[class] == nil {
		compose.Fail("activation %.60q is not supported", class)
	}
	return func(c *call, x *graph.Value) *graph.Value {
		a := plain(1).with(config)
		node := &frontend.Node{Op: class, Name: c.Node.Name, Version: c.Node.Version, In: c.Node.In[:1], Attrs: a}
		return layers[class](&call{c.With(x).As(node), a})
	}
}

// shrink is 0 within a threshold, and x less bias towards 0 beyond it.
func (c *call) shrink(x *graph.Value, threshold, bias float64) *graph.Value {
	return c.Apply(ops.Shrink, ops.ShrinkAttrs{Lambda: threshold, Bias: bias}, x)
}

// squareplus is (x + sqrt(x^2 + 4)) / 2.
func squareplus(c *call, x *graph.Value) *graph.Value {
	root := c.Do(ops.Sqrt, c.Do(ops.Add, c.Do(ops.Multiply, x, x), compose.Like(x, 4)))
	return c.Scaled(c.Do(ops.Add, x, root), 0.5)
}

// sparsePlus is 0 up to -1, x from 1 on, and (x+1)^2/4 between.
func sparsePlus(c *call, x *graph.Value) *graph.Value {
	y := c.Do(ops.Add, c.Clipped(x, -1, 1), compose.Like(x, 1))
	return c.Do(ops.Maximum, c.Scaled(c.Do(ops.Multiply, y, y), 0.25), x)
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

// softmax is along one axis or over several together; what a mask of the data's shape leaves out has no part.
func softmax(c *call) *graph.Value {
	x := c.X(0)
	if m := c.mask(0); m != nil {
		x = c.Do(ops.Add, x, c.forbidden(m, x.Type.DType))
	}
	axes := frontend.Axes(c.IntsOr("axis", max(1, len(c.Ints("axis"))), -1), x.Type.Rank())
	if len(axes) == 1 {
		return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: axes[0]}, x)
	}
	e := c.Do(ops.Exp, c.Do(ops.Subtract, x, c.Reduce(ops.Max, x, true, axes...)))
	return c.Do(ops.Divide, e, c.Reduce(ops.Sum, e, true, axes...))
}

// forbidden is 0 where a mask is true and a number below all scores elsewhere, as Keras has it.
func (c *call) forbidden(mask *graph.Value, d types.DType) *graph.Value {
	low := -1e9
	if d == types.F16 {
		low = -65504
	}
	return c.Do(ops.Where, mask, compose.Number(d, 0), compose.Number(d, low))
}
