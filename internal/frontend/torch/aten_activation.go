package torch

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var activationRows = []row{
	keeping("relu", ops.Relu), unary("sigmoid special_expit", ops.Sigmoid), unary("tanh", ops.Tanh), unary("hardswish", ops.HardSwish), unary("mish", ops.Mish), unary("softsign", ops.Softsign),
	formula("silu", func(c *call, x *graph.Value) *graph.Value { return c.Swish(x, 1) }),
	formula("hardsigmoid", func(c *call, x *graph.Value) *graph.Value {
		return c.Apply(ops.HardSigmoid, ops.HardSigmoidAttrs{Alpha: 1.0 / 6, Beta: 0.5}, x)
	}),
	formula("log_sigmoid", func(c *call, x *graph.Value) *graph.Value {
		return c.Do(ops.Negative, c.Do(ops.Softplus, c.Do(ops.Negative, x)))
	}),
	formula("tanhshrink", func(c *call, x *graph.Value) *graph.Value { return c.Do(ops.Subtract, x, c.Do(ops.Tanh, x)) }),
	sig("gelu", "self approximate:s", func(c *call) any {
		switch mode := c.str("approximate", "none"); mode {
		case "none":
			return c.Gelu(c.x("self"))
		case "tanh":
			return c.GeluTanh(c.x("self"))
		default:
			fail("approximate %q is not supported", mode)
		}
		return nil
	}),
	sig("leaky_relu", "self negative_slope:n", func(c *call) any {
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: c.num("negative_slope", 0.01)}, c.x("self"))
	}),
	sig("rrelu", "self lower:n upper:n training:b generator", func(c *call) any {
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: (c.num("lower", 1.0/8) + c.num("upper", 1.0/3)) / 2}, c.x("self"))
	}),
	sig("elu", "self alpha:n scale:n input_scale:n", elu), sig("celu", "self alpha:n", func(c *call) any {
		return c.Apply(ops.Celu, ops.AlphaAttrs{Alpha: c.num("alpha", 1)}, c.x("self"))
	}),
	sig("selu", "self", func(c *call) any {
		return c.Apply(ops.Selu, ops.SeluAttrs{Alpha: 1.6732632423543772848170429916717, Gamma: 1.0507009873554804934193349852946}, c.x("self"))
	}),
	sig("softplus", "self beta:n threshold:n", softplus),
	sig("softshrink", "self lambd:n", func(c *call) any {
		l := c.num("lambd", 0.5)
		return c.Apply(ops.Shrink, ops.ShrinkAttrs{Lambda: l, Bias: l}, c.x("self"))
	}),
	sig("hardshrink", "self lambd:n", func(c *call) any {
		return c.Apply(ops.Shrink, ops.ShrinkAttrs{Lambda: c.num("lambd", 0.5)}, c.x("self"))
	}),
	sig("threshold", "self threshold:n value:n", func(c *call) any {
		x := c.x("self")
		return c.Do(ops.Where, c.Do(ops.Greater, x, like(x, c.num("threshold", 0))), x, like(x, c.num("value", 0)))
	}),
	sig("prelu _prelu_kernel", "self weight", prelu),
	sig("glu", "self dim:i", func(c *call) any {
		x := c.x("self")
		a := c.axis("dim", -1, x.Type.Rank())
		n := x.Type.Shape[a]
		if n%2 != 0 {
			fail("an axis of %d elements has no halves", n)
		}
		half := c.Split(x, a, n/2, n/2)
		return c.Do(ops.Multiply, half[0], c.Do(ops.Sigmoid, half[1]))
	}),
	sig("softmax special_softmax", "self dim:i dtype:i", func(c *call) any { return c.softmax(false) }),
	sig("_softmax", "self dim:i half_to_float:b", func(c *call) any { return c.softmax(false) }),
	sig("log_softmax special_log_softmax", "self dim:i dtype:i", func(c *call) any { return c.softmax(true) }),
	sig("_log_softmax", "self dim:i half_to_float:b", func(c *call) any { return c.softmax(true) }),
	sig("softmin", "self dim:i dtype:i", func(c *call) any {
		x := c.float("self")
		return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: c.axis("dim", -1, x.Type.Rank())}, c.Do(ops.Negative, x))
	}),
	sig("dropout native_dropout feature_dropout alpha_dropout feature_alpha_dropout", "input p:n train:b", func(c *call) any {
		if c.bool("train", false) {
			c.Note("%s in %s is that of training and is left out", c.place.op, c.place.path)
		}
		return c.t("input")
	}),
	sig("dropout2d dropout3d", "input p:n train:b", func(c *call) any { return c.t("input") }),
}

func elu(c *call) any {
	x := c.x("self")
	if c.num("scale", 1) == 1 && c.num("input_scale", 1) == 1 {
		return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: c.num("alpha", 1)}, x)
	}
	negative := c.Scaled(c.Do(ops.Expm1, c.Scaled(x, c.num("input_scale", 1))), c.num("alpha", 1))
	return c.Scaled(c.Do(ops.Where, c.Do(ops.Greater, x, like(x, 0)), x, negative), c.num("scale", 1))
}

// softplus is log(1 + exp(beta x)) / beta, and x itself above the threshold, where both are equal in float32.
func softplus(c *call) any {
	x, beta, threshold := c.x("self"), c.num("beta", 1), c.num("threshold", 20)
	y := c.Scaled(c.Do(ops.Softplus, c.Scaled(x, beta)), 1/beta)
	if threshold < 20 && x.Type.DType == types.F32 {
		return c.Do(ops.Where, c.Do(ops.Greater, c.Scaled(x, beta), like(x, threshold)), x, y)
	}
	return y
}

// prelu has one slope for all or one for each channel.
func prelu(c *call) any {
	x, w := c.x("self"), c.x("weight")
	switch n := w.Type.Elements(); {
	case n == 1:
		w = c.Reshape(w)
	case x.Type.Rank() > 1 && w.Type.Rank() == 1:
		shape := make([]int, x.Type.Rank()-1)
		for k := range shape {
			shape[k] = 1
		}
		shape[0] = n
		w = c.Reshape(w, shape...)
	}
	return c.Prelu(x, w)
}

func (c *call) softmax(log bool) any {
	x := c.Cast(c.float("self"), c.dtype("dtype", c.float("self").Type.DType))
	if x.Type.Rank() == 0 {
		if log {
			return c.Full(x.Type.DType, 0)
		}
		return c.Full(x.Type.DType, 1)
	}
	d := ops.Softmax
	if log {
		d = ops.LogSoftmax
	}
	return c.Apply(d, ops.SoftmaxAttrs{Axis: c.axis("dim", -1, x.Type.Rank())}, x)
}
