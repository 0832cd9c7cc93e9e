package coreml

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var normRows = []row{
	{160, "batchnorm", "channels:1 computeMeanVar:5 instanceNormalization:6 epsilon:10f gamma:15w beta:16w mean:17w variance:18w", one(batchnorm)},
	{165, "mvn", "acrossChannels:1 normalizeVariance:2 epsilon:3f", one(mvn)}, {170, "l2normalize", "epsilon:1f", one(l2normalize)},
	{175, "softmax", "", one(func(c *call) *graph.Value {
		return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: c.axis("axis", -3)}, c.X(0))
	})},
	{950, "softmaxND", "axis:1", one(func(c *call) *graph.Value {
		return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: c.axis("axis", 0)}, c.X(0))
	})},
	{180, "lrn", "alpha:1f beta:2f localSize:3 k:4f", one(lrn)}, {1350, "layerNormalization", "normalizedShape:1s eps:2f gamma:3w beta:4w", one(layerNormalization)},
}

// positive is a float that stands for another where it is 0 or absent.
func (c *call) positive(name string, absent float64) float64 {
	if v := c.Float(name, 0); v != 0 {
		return v
	}
	return absent
}

func batchnorm(c *call) *graph.Value {
	x, back := c.images(c.X(0))
	n, epsilon := x.Type.Shape[1], c.positive("epsilon", 1e-5)
	c.Ignore("channels")
	gamma, beta := c.weight("gamma", n), c.weight("beta", n)
	of, instance := c.Bool("computeMeanVar", false), c.Bool("instanceNormalization", false)
	switch {
	case of && instance:
		return back(c.Apply(ops.InstanceNorm, ops.InstanceNormAttrs{Epsilon: epsilon}, x, gamma, beta))
	case of:
		mean, variance := c.BatchStatistics(x)
		return back(c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: epsilon}, x, gamma, beta, mean, variance))
	}
	return back(c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: epsilon}, x, gamma, beta, c.weight("mean", n), c.weight("variance", n)))
}

// mvn subtracts the mean of height and width, or of channels too, and divides by the deviation.
func mvn(c *call) *graph.Value {
	x, back := c.images(c.X(0))
	axes := []int{2, 3}
	if c.Bool("acrossChannels", false) {
		axes = []int{1, 2, 3}
	}
	epsilon := c.positive("epsilon", 1e-6)
	mean, inverse := c.Standardization(x, epsilon, axes...)
	y := c.Do(ops.Subtract, x, mean)
	if c.Bool("normalizeVariance", false) {
		y = c.Do(ops.Multiply, y, inverse)
	}
	return back(y)
}

func l2normalize(c *call) *graph.Value {
	x, back := c.images(c.X(0))
	sum := c.Do(ops.Add, c.SumSquare(x, true, 1, 2, 3), compose.Like(x, c.positive("epsilon", 1e-6)))
	return back(c.Do(ops.Divide, x, c.Do(ops.Sqrt, sum)))
}

func lrn(c *call) *graph.Value {
	x, back := c.images(c.X(0))
	return back(c.Apply(ops.LRN, ops.LRNAttrs{Size: c.Int("localSize", 0), Axis: 1, Alpha: c.Float("alpha", 0), Beta: c.Float("beta", 0), Bias: c.positive("k", 1)}, x))
}

// layerNormalization takes the last axes, of a given shape, as one.
func layerNormalization(c *call) *graph.Value {
	x, shape := c.X(0), c.Ints("normalizedShape")
	s := x.Type.Shape
	from, n := len(s)-len(shape), types.Count(shape)
	if from < 0 || len(shape) == 0 || !slices.Equal(s[from:], shape) {
		compose.Fail("of %s over %v", x.Type, shape)
	}
	y := c.Apply(ops.LayerNorm, ops.LayerNormAttrs{Axis: from, Epsilon: c.Float("eps", 0)}, c.Reshape(x, append(slices.Clone(s[:from]), n)...), c.weight("gamma", n), c.weight("beta", n))
	return c.Reshape(y, s...)
}
