package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var normRows = []row{
	{"FusedBatchNorm", fusedBatchNorm}, {"FusedBatchNormV2", fusedBatchNorm}, {"FusedBatchNormV3", fusedBatchNorm}, {"_FusedBatchNormEx", fusedBatchNorm},
	{"BatchNormWithGlobalNormalization", one(globalNorm)}, {"LRN", one(localResponse)}, {"L2Loss", one(l2Loss)},
	{"Softmax", one(softmax(ops.Softmax))}, {"LogSoftmax", one(softmax(ops.LogSoftmax))},
}

// fusedBatchNorm has the operands x, scale, offset, mean and variance; while training, mean and variance are those of the batch.
func fusedBatchNorm(c *call) values {
	c.Ignore("exponential_avg_factor", "U")
	training, epsilon := c.Bool("is_training", true), c.Float("epsilon", float64(float32(1e-4)))
	var mean, variance *graph.Value
	y := c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		d := x.Type.DType
		wide := x
		if d == types.F16 || d == types.BF16 { // statistics are float32
			wide = c.Cast(x, types.F32)
		}
		if training {
			mean, variance = c.BatchStatistics(wide)
			mean, variance = c.Reshape(mean, x.Type.Shape[1]), c.Reshape(variance, x.Type.Shape[1])
		} else {
			mean, variance = c.X(3), c.X(4)
		}
		of := func(v *graph.Value) *graph.Value { return c.Cast(v, wide.Type.DType) }
		return c.Cast(c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: epsilon}, wide, of(c.X(1)), of(c.X(2)), of(mean), of(variance)), d)
	})
	if side := c.Int("num_side_inputs", 0); side > 1 {
		compose.Fail("%d side inputs", side)
	} else if side == 1 {
		y = c.Do(ops.Add, y, c.X(5))
	}
	if c.OneOf("activation_mode", "Identity", "Identity", "Relu") == "Relu" {
		y = c.Do(ops.Relu, y)
	}
	return values{y, mean, variance, mean, variance, mean}
}

// globalNorm has the operands x, mean, variance, beta and gamma, of which the last may not count.
func globalNorm(c *call) *graph.Value {
	x, gamma := c.X(0), c.X(4)
	epsilon := c.Float("variance_epsilon", 0)
	if !c.Bool("scale_after_normalization", true) {
		gamma = compose.Like(gamma, 1)
		gamma = c.BroadcastTo(gamma, c.Shape(4)...)
	}
	if x.Type.Rank() < 2 {
		compose.Fail("operand %s", x.Type)
	}
	return c.ChannelsLast(c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: epsilon}, c.ChannelsFirst(x), gamma, c.X(3), c.X(1), c.X(2)))
}

// localResponse does not divide alpha by the number of channels in the window.
func localResponse(c *call) *graph.Value {
	size := 2*c.Int("depth_radius", 5) + 1
	if c.Rank(0) != 4 || size < 1 {
		compose.Fail("operand %s, depth_radius %d", c.X(0).Type, size/2)
	}
	return c.Apply(ops.LRN, ops.LRNAttrs{Size: size, Axis: 3, Alpha: c.Float("alpha", 1) * float64(size), Beta: c.Float("beta", 0.5), Bias: c.Float("bias", 1)}, c.X(0))
}

func l2Loss(c *call) *graph.Value {
	x := c.X(0)
	return c.Scaled(c.SumSquare(c.Reshape(x, x.Type.Elements()), false, 0), 0.5)
}

func softmax(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.WantRank(0, 1)
		return c.Apply(d, ops.SoftmaxAttrs{Axis: c.Rank(0) - 1}, c.X(0))
	}
}
