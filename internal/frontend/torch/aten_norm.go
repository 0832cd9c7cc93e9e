package torch

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
)

var normRows = []row{
	sig("batch_norm", "input weight bias running_mean running_var training:b momentum eps:n cudnn_enabled:b", func(c *call) any {
		return c.batchNorm("input", c.bool("training", false))
	}),
	sig("instance_norm", "input weight bias running_mean running_var use_input_stats:b momentum eps:n cudnn_enabled:b", func(c *call) any {
		if !c.bool("use_input_stats", true) {
			return c.batchNorm("input", false)
		}
		x := c.x("input")
		return c.Apply(ops.InstanceNorm, ops.InstanceNormAttrs{Epsilon: c.num("eps", 1e-5)}, x, c.channelwise("weight", 1, x), c.channelwise("bias", 0, x))
	}),
	sig("group_norm", "input num_groups:i weight bias eps:n cudnn_enabled:b", func(c *call) any { return c.groupNorm("input", c.int("num_groups", 1)) }),
	sig("layer_norm", "input normalized_shape:I weight bias eps:n cudnn_enable:b", func(c *call) any { return c.layerNorm() }),
}

// channelwise is a vector with an element for each channel of x, of absent ones where there is none.
func (c *call) channelwise(name string, absent float64, x *graph.Value) *graph.Value {
	if v := c.opt(name); v != nil {
		return c.Cast(v, x.Type.DType)
	}
	return c.Full(x.Type.DType, absent, x.Type.Shape[1])
}

// batchNorm takes the statistics that training left, or those of the data where there are none or training says so.
func (c *call) batchNorm(input string, training bool) *graph.Value {
	x := c.x(input)
	if x.Type.Rank() < 2 {
		fail("data %s without channels", x.Type)
	}
	var mean, variance *graph.Value
	if training || !c.given("running_mean") || !c.given("running_var") {
		mean, variance = c.BatchStatistics(x)
	} else {
		mean, variance = c.channelwise("running_mean", 0, x), c.channelwise("running_var", 1, x)
	}
	return c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: c.num("eps", 1e-5)}, x, c.channelwise("weight", 1, x), c.channelwise("bias", 0, x), mean, variance)
}

func (c *call) groupNorm(input string, groups int) *graph.Value {
	x := c.x(input)
	if x.Type.Rank() < 2 {
		fail("data %s without channels", x.Type)
	}
	if x.Type.Rank() == 2 { // the operator wants an image
		y := c.ExpandDims(x, 2)
		return c.Squeeze(c.Apply(ops.GroupNorm, ops.GroupNormAttrs{Groups: groups, Epsilon: c.num("eps", 1e-5)}, y, c.channelwise("weight", 1, x), c.channelwise("bias", 0, x)), 2)
	}
	return c.Apply(ops.GroupNorm, ops.GroupNormAttrs{Groups: groups, Epsilon: c.num("eps", 1e-5)}, x, c.channelwise("weight", 1, x), c.channelwise("bias", 0, x))
}

// layerNorm standardizes the last axes, which normalized_shape lists.
func (c *call) layerNorm() *graph.Value {
	x := c.x("input")
	shape := c.ints2("normalized_shape")
	first := x.Type.Rank() - len(shape)
	if first < 0 || !slices.Equal(x.Type.Shape[first:], shape) {
		fail("data %s whose last axes are not %v", x.Type, shape)
	}
	in := []*graph.Value{x}
	if w := c.opt("weight"); w != nil {
		in = append(in, c.Cast(w, x.Type.DType))
	}
	if b := c.opt("bias"); b != nil {
		if len(in) == 1 {
			in = append(in, c.Full(x.Type.DType, 1, shape...))
		}
		in = append(in, c.Cast(b, x.Type.DType))
	}
	return c.Apply(ops.LayerNorm, ops.LayerNormAttrs{Axis: first, Epsilon: c.num("eps", 1e-5)}, in...)
}
