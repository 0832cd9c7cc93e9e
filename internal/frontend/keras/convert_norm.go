package keras

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var normRows = []row{
	{"BatchNormalization", one(batchNorm)}, {"LayerNormalization", one(layerNorm)}, {"Normalization", one(normalization)}, {"UnitNormalization", one(unitNorm)},
}

// batchNorm has gamma only with scale and beta only with center, and always mean and variance.
func batchNorm(c *call) *graph.Value {
	c.Ignore("mode") // of Keras 1
	axes := c.IntsOr("axis", 1, -1)
	x := c.X(0)
	axis := frontend.Axis(axes[0], x.Type.Rank())
	if axis == 0 {
		compose.Fail("along the batch")
	}
	next, channels := 0, x.Type.Shape[axis]
	take := func(option string, absent float64) *graph.Value {
		if option != "" && !c.Bool(option, true) {
			return c.Full(x.Type.DType, absent, channels)
		}
		next++
		return c.weight(next - 1)
	}
	gamma, beta := take("scale", 1), take("center", 0)
	mean, variance := take("", 0), take("", 0)
	norm := func(x *graph.Value) *graph.Value {
		return c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: c.Float("epsilon", 1e-3)}, x, gamma, beta, mean, variance)
	}
	switch {
	case axis == 1:
		return norm(x)
	case axis == x.Type.Rank()-1:
		return c.toLast(norm(c.toFirst(x)))
	}
	compose.Fail("along axis %d of %s is not supported", axis, x.Type)
	return nil
}

func layerNorm(c *call) *graph.Value {
	x := c.X(0)
	axes := frontend.Axes(c.IntsOr("axis", max(1, len(c.Ints("axis"))), -1), x.Type.Rank())
	if axes[len(axes)-1] != x.Type.Rank()-1 || axes[len(axes)-1]-axes[0] != len(axes)-1 {
		compose.Fail("along axes %v of %s is not supported; the last ones are", axes, x.Type)
	}
	next := 0
	take := func(option string, absent float64) *graph.Value {
		if !c.Bool(option, true) {
			return c.Full(x.Type.DType, absent, x.Type.Shape[axes[0]:]...)
		}
		next++
		return c.weight(next - 1)
	}
	gamma, beta := take("scale", 1), take("center", 0)
	return c.Apply(ops.LayerNorm, ops.LayerNormAttrs{Axis: axes[0], Epsilon: c.Float("epsilon", 1e-3)}, x, gamma, beta)
}

// normalization is (x - mean) / max(deviation, 1e-7), of given numbers or of those found by adapt.
func normalization(c *call) *graph.Value {
	x := c.X(0)
	c.Ignore("axis", "invert")
	if c.Has("invert") && c.Bool("invert", false) || c.Has("mean") {
		compose.Fail("inverted, or with numbers among its options, it is not supported")
	}
	c.Ignore("mean", "variance")
	deviation := c.Do(ops.Maximum, c.Sqrt(c.weight(1)), compose.Like(x, 1e-7))
	return c.Do(ops.Divide, c.Do(ops.Subtract, x, c.weight(0)), deviation)
}

func unitNorm(c *call) *graph.Value {
	x := c.X(0)
	return c.Apply(ops.L2Normalize, ops.L2NormalizeAttrs{Axis: frontend.Axes(c.IntsOr("axis", max(1, len(c.Ints("axis"))), -1), x.Type.Rank()), Epsilon: 1e-12}, x)
}
