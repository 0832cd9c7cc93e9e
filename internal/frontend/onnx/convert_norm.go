package onnx

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

var normRows = []row{
	{"BatchNormalization", "", 1, batchNorm}, {"InstanceNormalization", "", 1, one(instanceNorm)},
	{"LayerNormalization", "", 17, layerNorm}, {"GroupNormalization", "", 18, one(groupNormByGroup)},
	{"GroupNormalization", "", 21, one(groupNorm)}, {"RMSNormalization", "", 23, one(rmsNorm)},
	{"LRN", "", 1, one(lrn)}, {"LpNormalization", "", 1, one(lpNorm)},
	{"MeanVarianceNormalization", "", 9, one(meanVarianceNorm)},
}

// batchNorm is the inference form, or with training_mode (opset 14) that with the statistics of the batch.
func batchNorm(c *call) values {
	c.Ignore("is_test", "consumed_inputs", "momentum")
	c.WantRank(0, 2)
	if !c.Bool("spatial", true) && types.Count(c.Shape(0)[2:]) != 1 {
		compose.Fail("spatial=0 (statistics by pixel) is not supported")
	}
	x, eps := c.X(0), c.Float("epsilon", 1e-5)
	in := values{x, c.X(1), c.X(2), c.X(3), c.X(4)}
	mixed := false
	for _, v := range in[1:] {
		mixed = mixed || v.Type.DType != x.Type.DType
	}
	if mixed { // narrow data with wider statistics
		for i := range in {
			in[i] = c.Cast(in[i], types.F32)
		}
	}
	out := values{}
	if c.Bool("training_mode", false) {
		mean, variance := c.BatchStatistics(in[0])
		momentum := c.Float("momentum", 0.9)
		for i, now := range []*graph.Value{mean, variance} {
			running := c.Do(ops.Add, c.Scaled(in[3+i], momentum), c.Scaled(now, 1-momentum))
			out = append(out, c.Cast(running, c.X(3).Type.DType))
		}
		in[3], in[4] = mean, variance
	}
	y := c.Cast(c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: eps}, in...), x.Type.DType)
	return append(values{y}, out...)
}

func instanceNorm(c *call) *graph.Value {
	c.Ignore("consumed_inputs")
	return c.Apply(ops.InstanceNorm, ops.InstanceNormAttrs{Epsilon: c.Float("epsilon", 1e-5)}, c.X(0), c.X(1), c.X(2))
}

// layerNorm gives the mean and the inverse deviation too, where the model asks for them.
func layerNorm(c *call) values {
	c.Ignore("stash_type") // the operator accumulates in float32
	x := c.X(0)
	a := ops.LayerNormAttrs{Axis: frontend.Axis(c.Int("axis", -1), x.Type.Rank()), Epsilon: c.Float("epsilon", 1e-5)}
	in := values{x, c.X(1)}
	if c.Present(2) {
		in = append(in, c.X(2))
	}
	out := values{c.Apply(ops.LayerNorm, a, in...)}
	if len(c.Node.Out) > 1 {
		mean, inverse := c.Standardization(x, a.Epsilon, compose.LastAxes(x, a.Axis)...)
		out = append(out, mean, inverse)
	}
	return out
}

func groupNorm(c *call) *graph.Value {
	c.Ignore("stash_type")
	return c.Apply(ops.GroupNorm, ops.GroupNormAttrs{Groups: c.Int("num_groups", 0), Epsilon: c.Float("epsilon", 1e-5)}, c.X(0), c.X(1), c.X(2))
}

// groupNormByGroup is opset 18, whose scale and bias have one entry for each group.
func groupNormByGroup(c *call) *graph.Value {
	c.WantRank(0, 2)
	groups, channels := c.Int("num_groups", 0), c.Shape(0)[1]
	if groups < 1 || channels%groups != 0 {
		compose.Fail("%s of %s", spelling.Count(groups, "group"), spelling.Count(channels, "channel"))
	}
	spread := func(v *graph.Value) *graph.Value {
		return c.Apply(ops.Repeat, ops.RepeatAttrs{Axis: 0, Repeats: channels / groups}, v)
	}
	return c.Apply(ops.GroupNorm, ops.GroupNormAttrs{Groups: groups, Epsilon: c.Float("epsilon", 1e-5)}, c.X(0), spread(c.X(1)), spread(c.X(2)))
}

func rmsNorm(c *call) *graph.Value {
	c.Ignore("stash_type")
	return c.Apply(ops.RMSNorm, ops.LayerNormAttrs{Axis: frontend.Axis(c.Int("axis", -1), c.Rank(0)), Epsilon: c.Float("epsilon", 1e-5)}, c.X(0), c.X(1))
}

func lrn(c *call) *graph.Value {
	c.WantRank(0, 2)
	return c.Apply(ops.LRN, ops.LRNAttrs{Size: c.Int("size", 0), Axis: 1, Alpha: c.Float("alpha", 1e-4),
		Beta: c.Float("beta", 0.75), Bias: c.Float("bias", 1)}, c.X(0))
}

// lpNorm divides by the norm; where that is 0 the result is 0.
func lpNorm(c *call) *graph.Value {
	x := c.X(0)
	norm := c.LpNorm(x, float64(c.Int("p", 2)), true, frontend.Axis(c.Int("axis", -1), x.Type.Rank()))
	zero := c.Do(ops.Equal, norm, compose.Like(x, 0))
	return c.Do(ops.Divide, x, c.Do(ops.Where, zero, compose.Like(x, 1), norm))
}

func meanVarianceNorm(c *call) *graph.Value {
	list := c.Ints("axes")
	if list == nil {
		list = []int{0, 2, 3}
	}
	return c.MeanVarianceNormalization(c.X(0), frontend.Axes(list, c.Rank(0))...)
}
