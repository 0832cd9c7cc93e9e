package paddle

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Quantised programs of PaddleSlim: a scale is what the greatest integer stands for.
var quantRows = []row{
	{"quantize_linear", one(func(c *call) *graph.Value { return c.quantized(c.x(), c.operand("Scale")) })},
	{"dequantize_linear", one(func(c *call) *graph.Value { return c.dequantized(c.x(), c.operand("Scale")) })},
	{"fake_quantize_dequantize_moving_average_abs_max", one(func(c *call) *graph.Value { return c.requantized(c.operand("InScale")) })},
	{"fake_quantize_dequantize_abs_max", one(func(c *call) *graph.Value { return c.requantized(c.greatest(false)) })},
	{"fake_channel_wise_quantize_dequantize_abs_max", one(func(c *call) *graph.Value { return c.requantized(c.greatest(true)) })},
	{"moving_average_abs_max_scale", one(identity)},
}

// bits checks how many an integer has.
func (c *call) bits() {
	if n := c.Int("bit_length", 8); n != 8 {
		compose.Fail("integers of %d bits are not supported", n)
	}
	c.Ignore("only_observer", "qmin", "qmax", "moving_rate")
	if c.Bool("only_observer", false) {
		compose.Fail("only_observer is for training")
	}
}

// along is the axis of the channels that scales of more than one element belong to.
func (c *call) channels(x, scale *graph.Value) int {
	axis := c.Int("quant_axis", -1)
	if scale.Type.Elements() == 1 {
		return 0
	}
	return frontend.Axis(axis, x.Type.Rank())
}

// unit is what the integer 1 stands for: a number, or a vector of channels.
func (c *call) unit(scale *graph.Value) *graph.Value {
	if scale.Type.Elements() == 1 {
		scale = c.Scalar(scale)
	} else {
		scale = c.Reshape(scale, scale.Type.Elements())
	}
	return c.Do(ops.Divide, scale, compose.Like(scale, 127))
}

// quantized goes to the nearest integer, of two to the even one, or with round_type 1, where -128 is none, to the one farther from zero.
func (c *call) quantized(x, scale *graph.Value) *graph.Value {
	c.bits()
	axis := c.channels(x, scale)
	if c.Int("round_type", 0) == 0 {
		return c.Apply(ops.Quantize, ops.QuantizeAttrs{Axis: axis, OutDType: types.I8, Rounding: ops.HalfEven}, x, c.unit(scale))
	}
	by := c.unit(scale)
	if by.Type.Rank() > 0 {
		by = c.along(by, x, axis)
	}
	return c.Cast(c.rounded(c.Clipped(c.Do(ops.Divide, x, by), -127, 127)), types.I8)
}

func (c *call) dequantized(x, scale *graph.Value) *graph.Value {
	c.bits()
	c.Ignore("round_type")
	return c.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: c.channels(x, scale)}, c.Cast(x, types.I8), c.unit(scale))
}

// requantized is the number that an integer of x stands for.
func (c *call) requantized(scale *graph.Value) *graph.Value {
	x := c.x()
	return c.dequantized(c.quantized(x, scale), scale)
}

// greatest are the greatest magnitudes of all or of each channel.
func (c *call) greatest(channels bool) *graph.Value {
	x := c.Do(ops.Abs, c.x())
	if !channels {
		return c.Reduce(ops.Max, x, false)
	}
	var axes []int
	for k := range x.Type.Rank() {
		if k != c.Int("quant_axis", 0) {
			axes = append(axes, k)
		}
	}
	return c.Reduce(ops.Max, x, false, axes...)
}
