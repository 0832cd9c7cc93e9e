package torch

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Quantised operators compute what PyTorch's qnnpack and fbgemm do, to the bit: integer sums, and products in float32 that are rounded half
// to even.
var quantizedRows = []row{
	sig("quantize_per_tensor", "self:T scale zero_point dtype:i", func(c *call) any {
		return c.quantized(c.x("self"), c.num("scale", 1), int64(c.int("zero_point", 0)), c.dtype("dtype", types.U8))
	}),
	sig("quantize_per_channel", "self scales zero_points axis:i dtype:i", quantizePerChannel),
	sig("dequantize", "self:T", func(c *call) any { return c.dequantized(c.t("self")) }), sig("dequantize", "tensors:L", func(c *call) any {
		var out []value
		for _, t := range c.tensors("tensors") {
			out = append(out, c.fresh(c.dequantized(t)))
		}
		return c.newList(out)
	}),
	sig("int_repr", "self", func(c *call) any { return c.x("self") }),
	sig("q_scale", "self", func(c *call) any { return c.t("self").quant.scales[0] }), sig("q_zero_point", "self", func(c *call) any { return c.t("self").quant.zeros[0] }),
	sig("quantized.conv1d quantized.conv2d quantized.conv3d quantized.conv1d_relu quantized.conv2d_relu quantized.conv3d_relu", "qx packed output_scale:n output_zero_point:i", quantizedConv),
	sig("quantized.conv2d quantized.conv2d_relu", "qx packed stride:I padding:I dilation:I groups:i output_scale:n output_zero_point:i", func(c *call) any {
		p := *c.packed("packed")
		p.stride, p.padding, p.dilation, p.groups = c.ints("stride"), c.ints("padding"), c.ints("dilation"), c.int("groups", 1)
		c.args["packed"] = &p
		return quantizedConv(c)
	}),
	sig("quantized.conv_transpose1d quantized.conv_transpose2d quantized.conv_transpose3d", "qx packed output_scale:n output_zero_point:i", quantizedConv),
	sig("quantized.linear quantized.linear_relu", "X W_prepack output_scale:n output_zero_point:i", quantizedLinear),
	sig("quantized.linear_dynamic quantized.linear_relu_dynamic", "X W_prepack reduce_range:b", dynamicLinear),
	sig("quantized.linear_dynamic_fp16 quantized.linear_relu_dynamic_fp16", "X W_prepack", func(c *call) any {
		p := c.packed("W_prepack")
		return c.relued(c.plus(c.dense(c.x("X"), c.Cast(p.weight.v, types.F32)), p.bias))
	}),
	sig("quantized.add_scalar quantized.add_scalar_relu", "self other:n", withScalar(ops.Add)), sig("quantized.mul_scalar quantized.mul_scalar_relu", "self other:n", withScalar(ops.Multiply)),
	sig("quantized.linear_prepack quantized.linear_prepack_fp16", "W B", func(c *call) any { return &packed{weight: c.t("W"), bias: c.opt("B"), groups: 1} }),
	sig("quantized.conv1d_prepack quantized.conv2d_prepack quantized.conv3d_prepack quantized.conv_prepack", "weight bias stride:I padding:I dilation:I groups:i", func(c *call) any { return c.prepack(false) }),
	sig("quantized.conv_transpose1d_prepack quantized.conv_transpose2d_prepack quantized.conv_transpose3d_prepack", "weight bias stride:I padding:I output_padding:I dilation:I groups:i", func(c *call) any { return c.prepack(true) }),
	sig("prepacked.linear_clamp_prepack", "W B output_min output_max", func(c *call) any { p := &packed{weight: c.t("W"), bias: c.opt("B"), groups: 1}; c.limits(p); return p }),
	sig("prepacked.conv2d_clamp_prepack", "weight bias stride:I padding:I dilation:I groups:i output_min output_max", func(c *call) any { p := c.prepack(false); c.limits(p); return p }),
	sig("quantized.linear_unpack", "packed", func(c *call) any { p := c.packed("packed"); return tuple{p.weight, c.optional(p.bias)} }),
	sig("quantized.conv1d_unpack quantized.conv2d_unpack quantized.conv3d_unpack", "packed", func(c *call) any { p := c.packed("packed"); return tuple{p.weight, c.optional(p.bias)} }),
}

// optional is a tensor of v, None where there is none.
func (m *machine) optional(v *graph.Value) value {
	if v == nil {
		return nil
	}
	return m.fresh(v)
}
