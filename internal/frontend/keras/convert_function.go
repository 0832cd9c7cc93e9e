package keras

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// functionTable lists every function that is converted.
var functionTable = slices.Concat([]function{
	{"Absolute x; Abs x", "math.abs x", of(ops.Abs)}, {"Negative x", "math.negative x; __operators__.neg x", of(ops.Negative)}, {"Exp x", "math.exp x", ofFloat(ops.Exp)}, {"Expm1 x", "math.expm1 x", ofFloat(ops.Expm1)},
	{"Log x", "math.log x", ofFloat(ops.Log)}, {"Log1p x", "math.log1p x", ofFloat(ops.Log1p)}, {"Log2 x", "", logarithm(2)}, {"Log10 x", "", logarithm(10)},
	{"Sqrt x", "math.sqrt x; sqrt x", ofFloat(ops.Sqrt)}, {"Rsqrt x", "math.rsqrt x", ofFloat(ops.Rsqrt)}, {"Reciprocal x", "math.reciprocal x", ofFloat(ops.Reciprocal)},
	{"Sign x", "math.sign x; sign x", of(ops.Sign)}, {"Floor x", "math.floor x; floor x", of(ops.Floor)}, {"Ceil x", "math.ceil x", of(ops.Ceil)}, {"Trunc x", "", of(ops.Trunc)},
	{"Round x", "math.round x; round x", of(ops.Round)}, {"Sin x", "math.sin x; sin x", ofFloat(ops.Sin)}, {"Cos x", "math.cos x; cos x", ofFloat(ops.Cos)}, {"Tan x", "math.tan x", ofFloat(ops.Tan)},
	{"Arcsin x", "math.asin x", ofFloat(ops.Asin)}, {"Arccos x", "math.acos x", ofFloat(ops.Acos)}, {"Arctan x", "math.atan x", ofFloat(ops.Atan)}, {"Sinh x", "math.sinh x", ofFloat(ops.Sinh)},
	{"Cosh x", "math.cosh x", ofFloat(ops.Cosh)}, {"Tanh x", "math.tanh x; nn.tanh x; tanh x", ofFloat(ops.Tanh)}, {"Erf x", "math.erf x", ofFloat(ops.Erf)},
	{"Square x", "math.square x; square x", func(c *call) *graph.Value { return c.Do(ops.Multiply, c.x("x"), c.x("x")) }},
	{"LogicalNot x", "math.logical_not x", func(c *call) *graph.Value { return c.Do(ops.LogicalNot, c.truth(c.x("x"))) }},
	{"Isnan x", "math.is_nan x", of(ops.IsNaN)},

	{"Add x1 x2", "math.add x=x1 y=x2; __operators__.add x=x1 y=x2; add x=x1 y=x2", binary(ops.Add)}, {"Subtract x1 x2", "math.subtract x=x1 y=x2; subtract x=x1 y=x2", binary(ops.Subtract)},
	{"Multiply x1 x2", "math.multiply x=x1 y=x2; multiply x=x1 y=x2", binary(ops.Multiply)}, {"Divide x1 x2; TrueDivide x1 x2", "math.truediv x=x1 y=x2; math.divide x=x1 y=x2; divide x=x1 y=x2", quotient},
	{"FloorDivide x1 x2", "math.floordiv x=x1 y=x2", binary(ops.FloorDivide)}, {"Mod x1 x2", "math.floormod x=x1 y=x2", binary(ops.FloorMod)}, {"Power x1 x2", "math.pow x=x1 y=x2; pow x=x1 y=x2", binary(ops.Power)},
	{"Maximum x1 x2", "math.maximum x=x1 y=x2; maximum x=x1 y=x2", binary(ops.Maximum)}, {"Minimum x1 x2", "math.minimum x=x1 y=x2; minimum x=x1 y=x2", binary(ops.Minimum)},
	{"Equal x1 x2", "math.equal x=x1 y=x2; __operators__.eq self=x1 other=x2", binary(ops.Equal)}, {"NotEqual x1 x2", "math.not_equal x=x1 y=x2; __operators__.ne self=x1 other=x2", binary(ops.NotEqual)},
	{"Greater x1 x2", "math.greater x=x1 y=x2", binary(ops.Greater)}, {"GreaterEqual x1 x2", "math.greater_equal x=x1 y=x2", binary(ops.GreaterEqual)},
	{"Less x1 x2", "math.less x=x1 y=x2", binary(ops.Less)}, {"LessEqual x1 x2", "math.less_equal x=x1 y=x2", binary(ops.LessEqual)}, {"Arctan2 x1 x2", "math.atan2 y=x1 x=x2", binary(ops.Atan2)},
	{"LogicalAnd x1 x2", "math.logical_and x=x1 y=x2", logical(ops.LogicalAnd)}, {"LogicalOr x1 x2", "math.logical_or x=x1 y=x2", logical(ops.LogicalOr)}, {"LogicalXor x1 x2", "math.logical_xor x=x1 y=x2", logical(ops.LogicalXor)},
	{"", "math.squared_difference x=x1 y=x2", func(c *call) *graph.Value {
		d := binary(ops.Subtract)(c)
		return c.Do(ops.Multiply, d, d)
	}},
	{"", "math.add_n inputs*; nn.add_n inputs*", func(c *call) *graph.Value { return c.Fold(ops.Add, c.list("inputs")...) }},
	{"Where condition x1 x2", "where condition x=x1 y=x2; where_v2 condition x=x1 y=x2", func(c *call) *graph.Value {
		condition := c.truth(c.x("condition"))
		x, y := c.pair("x1", "x2")
		return c.Do(ops.Where, condition, x, y)
	}},
	{"Clip x x_min x_max", "clip_by_value t=x clip_value_min=x_min clip_value_max=x_max", func(c *call) *graph.Value {
		return c.Do(ops.Minimum, c.Do(ops.Maximum, c.x("x"), c.x("x_min")), c.x("x_max"))
	}},
	{"Cast x dtype", "cast x dtype", cast},
	{"StopGradient variable=x", "stop_gradient input=x; identity input=x; convert_to_tensor value=x; ensure_shape x shape", func(c *call) *graph.Value {
		c.Ignore("shape")
		return c.x("x")
	}},

	{"Sum x axis keepdims", "math.reduce_sum input_tensor=x axis keepdims; reduce_sum input_tensor=x axis keepdims", reduced(ops.Sum)}, {"Mean x axis keepdims", "math.reduce_mean input_tensor=x axis keepdims; reduce_mean input_tensor=x axis keepdims", reduced(ops.Mean)},
	{"Max x axis keepdims", "math.reduce_max input_tensor=x axis keepdims; reduce_max input_tensor=x axis keepdims", reduced(ops.Max)}, {"Min x axis keepdims", "math.reduce_min input_tensor=x axis keepdims", reduced(ops.Min)},
	{"Prod x axis keepdims", "math.reduce_prod input_tensor=x axis keepdims", reduced(ops.Prod)}, {"Any x axis keepdims", "math.reduce_any input_tensor=x axis keepdims", reduced(ops.Any)},
	{"All x axis keepdims", "math.reduce_all input_tensor=x axis keepdims", reduced(ops.AllOf)},
	{"Amax x axis keepdims", "", reduced(ops.Max)}, {"Amin x axis keepdims", "", reduced(ops.Min)},
	{"Var x axis keepdims", "math.reduce_variance input_tensor=x axis keepdims", variance}, {"Std x axis keepdims", "math.reduce_std input_tensor=x axis keepdims", func(c *call) *graph.Value { return c.Do(ops.Sqrt, variance(c)) }},
	{"Logsumexp x axis keepdims", "math.reduce_logsumexp input_tensor=x axis keepdims", func(c *call) *graph.Value {
		axes, keep := c.axes("axis"), c.Bool("keepdims", false)
		return c.LogSumExp(c.x("x"), keep, axes...)
	}},
	{"Argmax x axis keepdims", "math.argmax input=x axis output_type=dtype; argmax input=x axis output_type=dtype", argument1(ops.ArgMax)}, {"Argmin x axis keepdims", "math.argmin input=x axis output_type=dtype", argument1(ops.ArgMin)},
	{"Cumsum x axis", "math.cumsum x axis exclusive reverse", func(c *call) *graph.Value {
		return c.Apply(ops.CumSum, ops.CumulativeAttrs{Axis: frontend.Axis(c.Int("axis", 0), c.x("x").Type.Rank()), Exclusive: c.Bool("exclusive", false), Reverse: c.Bool("reverse", false)}, c.x("x"))
	}},
	{"Normalize x axis order epsilon", "math.l2_normalize x axis epsilon; nn.l2_normalize x axis epsilon; linalg.l2_normalize x axis epsilon", func(c *call) *graph.Value {
		if c.Float("order", 2) != 2 {
			compose.Fail("order %v is not supported; 2 is", c.Float("order", 2))
		}
		axes := c.axes("axis")
		if len(axes) == 0 {
			axes = compose.LastAxes(c.x("x"), c.x("x").Type.Rank()-1)
		}
		return c.Apply(ops.L2Normalize, ops.L2NormalizeAttrs{Axis: axes, Epsilon: c.Float("epsilon", 1e-12)}, c.x("x"))
	}},
	{"Matmul x1 x2", "linalg.matmul a=x1 b=x2 transpose_a transpose_b; matmul a=x1 b=x2 transpose_a transpose_b", product},
	{"Dot x1 x2", "", product},
	{"Einsum a b c d e f", "einsum equation=subscripts a b c d e f; linalg.einsum equation=subscripts a b c d e f", einsum},
}, nnFunctions, moveFunctions)

// nnFunctions are activations and windows.
var nnFunctions = []function{
	activationFunction("Relu", "relu", "features"), activationFunction("Relu6", "relu6", "features"), activationFunction("Sigmoid", "sigmoid", "x"), activationFunction("Softplus", "softplus", "features"),
	activationFunction("Softsign", "softsign", "features"), activationFunction("Silu", "silu", "features"), activationFunction("", "swish", "features"), activationFunction("LogSigmoid", "log_sigmoid", "x"), activationFunction("HardSigmoid", "hard_sigmoid", "x"),
	activationFunction("HardSilu", "hard_silu", "x"), activationFunction("Selu", "selu", "features"), activationFunction("HardTanh", "hard_tanh", "x"),
	{"LeakyRelu x negative_slope", "nn.leaky_relu features=x alpha=negative_slope", func(c *call) *graph.Value {
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: c.Float("negative_slope", 0.2)}, c.x("x"))
	}},
	{"Elu x alpha", "nn.elu features=x", func(c *call) *graph.Value {
		return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: c.Float("alpha", 1)}, c.x("x"))
	}},
	{"Gelu x approximate", "nn.gelu features=x approximate", func(c *call) *graph.Value {
		if c.Bool("approximate", c.Node.Op == kerasFunction+"Gelu") {
			return c.GeluTanh(c.x("x"))
		}
		return c.Gelu(c.x("x"))
	}},
	{"Glu x axis", "", func(c *call) *graph.Value {
		return c.Glu(c.x("x"), frontend.Axis(c.Int("axis", -1), c.x("x").Type.Rank()))
	}},
	{"Softmax x axis", "nn.softmax logits=x axis", normalized(ops.Softmax)}, {"LogSoftmax x axis", "nn.log_softmax logits=x axis", normalized(ops.LogSoftmax)},
	{"", "nn.bias_add value=x bias", func(c *call) *graph.Value { return c.Do(ops.Add, c.x("x"), c.x("bias")) }},
	{"OneHot x num_classes axis", "one_hot indices=x depth=num_classes on_value off_value axis", oneHot},
	{"Resize images=x size interpolation antialias data_format", "image.resize images=x size method=interpolation preserve_aspect_ratio antialias; image.resize_v2 images=x size method=interpolation", func(c *call) *graph.Value {
		c.Ignore("preserve_aspect_ratio", "crop_to_aspect_ratio", "pad_to_aspect_ratio", "fill_mode", "fill_value")
		for _, option := range []string{"preserve_aspect_ratio", "crop_to_aspect_ratio", "pad_to_aspect_ratio"} {
			if c.Has(option) && c.Bool(option, false) {
				compose.Fail("%s is not supported", option)
			}
		}
		from, _ := c.spatial(c.x("x"))
		return c.resampled(c.x("x"), from, c.IntsOr("size", 2, 0), c.OneOf("interpolation", "bilinear", "nearest", "bilinear", "bicubic"), c.Bool("antialias", false))
	}},
	{"", "nn.space_to_depth input=x block_size; nn.depth_to_space input=x block_size", func(c *call) *graph.Value {
		d := ops.SpaceToDepth
		if c.Node.Op == tensorflowFunction+"nn.depth_to_space" {
			d = ops.DepthToSpace
		}
		c.OneOf("data_format", "NHWC", "NHWC")
		return c.ChannelsLast(c.Apply(d, ops.DepthSpaceAttrs{BlockSize: c.Int("block_size", 0), Mode: "DCR"}, c.ChannelsFirst(c.x("x"))))
	}},
}

func activationFunction(class, name, parameter string) function {
	f := function{tensorflow: "nn." + name + " " + parameter + "=x; keras.activations." + name + " x", convert: func(c *call) *graph.Value { return activations[name](c, c.x("x")) }}
	if class != "" {
		f.keras = class + " x"
	}
	return f
}

func of(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value { return c.Do(d, c.x("x")) }
}

// ofFloat computes in floats, integers too.
func ofFloat(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value { return c.Do(d, c.float(c.x("x"))) }
}

func (c *call) float(x *graph.Value) *graph.Value {
	if x.Type.DType.IsFloat() {
		return x
	}
	return c.Cast(x, types.F32)
}

func logarithm(base float64) func(c *call) *graph.Value {
	return func(c *call) *graph.Value { return c.Scaled(c.Do(ops.Log, c.float(c.x("x"))), 1/math.Log(base)) }
}

func binary(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		x, y := c.pair("x1", "x2")
		return c.Do(d, x, y)
	}
}

func quotient(c *call) *graph.Value {
	x, y := c.pair("x1", "x2")
	return c.Do(ops.Divide, c.float(x), c.float(y))
}

func logical(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value { return c.Do(d, c.truth(c.x("x1")), c.truth(c.x("x2"))) }
}

func cast(c *call) *graph.Value {
	d := c.DType("dtype", types.Invalid)
	return c.Cast(c.x("x"), d)
}

// axes are those of an argument; none where it is absent, which means all.
func (c *call) axes(name string) []int {
	return frontend.Axes(c.Ints(name), c.x("x").Type.Rank())
}

func reduced(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		x := c.x("x")
		if d == ops.Mean {
			x = c.float(x)
		}
		if d == ops.Any || d == ops.AllOf {
			x = c.truth(x)
		}
		return c.Reduce(d, x, c.Bool("keepdims", false), c.axes("axis")...)
	}
}

func variance(c *call) *graph.Value {
	x, axes := c.float(c.x("x")), c.axes("axis")
	d := c.Do(ops.Subtract, x, c.Reduce(ops.Mean, x, true, axes...))
	return c.Reduce(ops.Mean, c.Do(ops.Multiply, d, d), c.Bool("keepdims", false), axes...)
}

// argument1 is the place of an extreme element, of all as one axis where there is no axis.
func argument1(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		x, to := c.x("x"), types.I32
		if c.Has("dtype") {
			to = c.DType("dtype", types.Invalid)
		} else if c.Node.Op[:len(tensorflowFunction)] == tensorflowFunction {
			to = types.I64
		}
		axis := 0
		if c.Has("axis") {
			axis = frontend.Axis(c.Int("axis", 0), x.Type.Rank())
		} else if c.Node.Op[:len(tensorflowFunction)] != tensorflowFunction {
			x = c.Reshape(x, x.Type.Elements())
		}
		return c.Cast(c.Apply(d, ops.ArgAttrs{Axis: axis, KeepDims: c.Bool("keepdims", false)}, x), to)
	}
}

func normalized(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		x := c.x("x")
		return c.Apply(d, ops.SoftmaxAttrs{Axis: frontend.Axis(c.Int("axis", -1), x.Type.Rank())}, x)
	}
}

func product(c *call) *graph.Value {
	x, y := c.pair("x1", "x2")
	turned := func(x *graph.Value, option string) *graph.Value {
		if !c.Bool(option, false) {
			return x
		}
		order := through(0, x.Type.Rank())
		if len(order) < 2 {
			compose.Fail("%s of %s", option, x.Type)
		}
		n := len(order)
		order[n-2], order[n-1] = n-1, n-2
		return c.Transpose(x, order...)
	}
	return c.NumpyMatmul(turned(x, "transpose_a"), turned(y, "transpose_b"))
}

// einsum takes the equation as an option, or in front of the operands.
func einsum(c *call) *graph.Value { return c.Einsum(c.Str("subscripts", ""), c.inputs()...) }

func oneHot(c *call) *graph.Value {
	x, d := c.x("x"), types.F32
	if c.Has("dtype") {
		d = c.DType("dtype", types.Invalid)
	}
	axis := c.Int("axis", -1)
	return c.Apply(ops.OneHot, ops.OneHotAttrs{Depth: c.Int("num_classes", 0), Axis: frontend.Axis(axis, x.Type.Rank()+1)}, x,
		compose.Number(d, c.Float("on_value", 1)), compose.Number(d, c.Float("off_value", 0)))
}
