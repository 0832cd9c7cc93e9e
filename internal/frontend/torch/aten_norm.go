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
	sig("_native_batch_norm_legit_no_training", "input weight bias running_mean running_var momentum eps:n", func(c *call) any {
		y := c.batchNorm("input", false)
		empty := c.Full(y.Type.DType, 0, 0)
		return []*graph.Value{y, empty, empty}
	}),
	sig("native_batch_norm _native_batch_norm_legit cudnn_batch_norm", "input weight bias running_mean running_var training:b momentum eps:n", func(c *call) any {
		y := c.batchNorm("input", c.bool("training", false))
		empty := c.Full(y.Type.DType, 0, 0)
		return []*graph.Value{y, empty, empty}
	}),
	sig("instance_norm", "input weight bias running_mean running_var use_input_stats:b momentum eps:n cudnn_enabled:b", func(c *call) any {
		if !c.bool("use_input_stats", true) {
			return c.batchNorm("input", false)
		}
		x := c.x("input")
		return c.Apply(ops.InstanceNorm, ops.InstanceNormAttrs{Epsilon: c.num("eps", 1e-5)}, x, c.channelwise("weight", 1, x), c.channelwise("bias", 0, x))
	}),
	sig("group_norm", "input num_groups:i weight bias eps:n cudnn_enabled:b", func(c *call) any { return c.groupNorm("input", c.int("num_groups", 1)) }),
	sig("native_group_norm", "input weight bias N:i C:i HxW:i group:i eps:n", func(c *call) any {
		y := c.groupNorm("input", c.int("group", 1))
		empty := c.Full(y.Type.DType, 0, 0)
		return []*graph.Value{y, empty, empty}
	}),
	sig("layer_norm", "input normalized_shape:I weight bias eps:n cudnn_enable:b", func(c *call) any { return c.layerNorm() }),
	sig("native_layer_norm", "input normalized_shape:I weight bias eps:n", func(c *call) any {
		y := c.layerNorm()
		empty := c.Full(y.Type.DType, 0, 0)
		return []*graph.Value{y, empty, empty}
	}),
	sig("rms_norm", "input normalized_shape:I weight eps", rmsNorm),
	sig("local_response_norm", "input size:i alpha:n beta:n k:n", func(c *call) any {
		return c.Apply(ops.LRN, ops.LRNAttrs{Size: c.int("size", 5), Axis: 1, Alpha: c.num("alpha", 1e-4), Beta: c.num("beta", 0.75), Bias: c.num("k", 1)}, c.x("input"))
	}),
	sig("normalize", "input p:n dim:i eps:n", func(c *call) any {
		x := c.x("input")
		a := c.axis("dim", 1, x.Type.Rank())
		n := c.LpNorm(x, c.num("p", 2), true, a)
		return c.Do(ops.Divide, x, c.Do(ops.Maximum, n, like(x, c.num("eps", 1e-12))))
	}),
	sig("cosine_similarity", "x1 x2 dim:i eps:n", func(c *call) any {
		x, y := c.both("x1", "x2")
		a, eps := c.axis("dim", 1, x.Type.Rank()), c.num("eps", 1e-8)
		along := func(p, q *graph.Value) *graph.Value { return c.Reduce(ops.Sum, c.Do(ops.Multiply, p, q), false, a) }
		length := func(p *graph.Value) *graph.Value { return c.Do(ops.Maximum, c.Do(ops.Sqrt, along(p, p)), like(p, eps)) }
		return c.Do(ops.Divide, along(x, y), c.Do(ops.Multiply, length(x), length(y)))
	}),
	sig("pairwise_distance", "x1 x2 p:n eps:n keepdim:b", func(c *call) any {
		x, y := c.both("x1", "x2")
		d := c.Do(ops.Add, c.Do(ops.Subtract, x, y), like(x, c.num("eps", 1e-6)))
		return c.LpNorm(d, c.num("p", 2), c.bool("keepdim", false), d.Type.Rank()-1)
	}),
	sig("_weight_norm", "v g dim:i", func(c *call) any {
		v := c.x("v")
		a := c.axis("dim", 0, v.Type.Rank())
		var axes []int
		for k := range v.Type.Rank() {
			if k != a {
				axes = append(axes, k)
			}
		}
		return c.Do(ops.Multiply, v, c.Do(ops.Divide, c.x("g"), c.LpNorm(v, 2, true, axes...)))
	}),
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

func rmsNorm(c *call) any {
	x := c.x("input")
	in := []*graph.Value{x}
	if w := c.opt("weight"); w != nil {
		in = append(in, c.Cast(w, x.Type.DType))
	}
	return c.Apply(ops.RMSNorm, ops.LayerNormAttrs{Axis: x.Type.Rank() - len(c.ints2("normalized_shape")), Epsilon: c.num("eps", 1.1920928955078125e-7)}, in...)
}
