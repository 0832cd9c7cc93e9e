package keras

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var normRows = []row{
	{"BatchNormalization", one(batchNorm)}, {"LayerNormalization", one(layerNorm)}, {"Normalization", one(normalization)}, {"UnitNormalization", one(unitNorm)},
	{"GroupNormalization", one(groupNorm)}, {"RMSNormalization", one(rmsNorm)}, {"LayerScale", one(layerScale)},
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
		return c.ChannelsLast(norm(c.ChannelsFirst(x)))
	}
	order := through(0, x.Type.Rank()) // the axis and the second one change places
	order[1], order[axis] = axis, 1
	return c.Transpose(norm(c.Transpose(x, order...)), order...)
}

// scaleAndShift are the weights of a normalization over axes, which broadcast to x: gamma with scale and beta with center.
func (c *call) scaleAndShift(x *graph.Value, axes []int) (gamma, beta *graph.Value) {
	shape := slices.Repeat([]int{1}, x.Type.Rank())
	for _, a := range axes {
		shape[a] = x.Type.Shape[a]
	}
	next := 0
	rms := c.Node.Op == "RMSNormalization" || c.Bool("rms_scaling", false) // there is nothing to shift
	take := func(option string) *graph.Value {
		if !c.Bool(option, true) || rms && option == "center" {
			return nil
		}
		next++
		return c.Reshape(c.weight(next-1), shape...)
	}
	return take("scale"), take("center")
}

// affine is gamma*x + beta, of those that there are.
func (c *call) affine(x, gamma, beta *graph.Value) *graph.Value {
	if gamma != nil {
		x = c.Do(ops.Multiply, x, gamma)
	}
	if beta != nil {
		x = c.Do(ops.Add, x, beta)
	}
	return x
}

func layerNorm(c *call) *graph.Value {
	x := c.X(0)
	axes := frontend.Axes(c.IntsOr("axis", max(1, len(c.Ints("axis"))), -1), x.Type.Rank())
	epsilon := c.Float("epsilon", 1e-3)
	if c.Bool("rms_scaling", false) { // deviation without the mean's part in the numerator
		_, inverse := c.Standardization(x, epsilon, axes...)
		gamma, _ := c.scaleAndShift(x, axes)
		return c.affine(c.Do(ops.Multiply, x, inverse), gamma, nil)
	}
	gamma, beta := c.scaleAndShift(x, axes)
	if axes[len(axes)-1] != x.Type.Rank()-1 || axes[len(axes)-1]-axes[0] != len(axes)-1 {
		mean, inverse := c.Standardization(x, epsilon, axes...)
		return c.affine(c.Do(ops.Multiply, c.Do(ops.Subtract, x, mean), inverse), gamma, beta)
	}
	last := func(v *graph.Value, absent float64) *graph.Value {
		if v == nil {
			return c.Full(x.Type.DType, absent, x.Type.Shape[axes[0]:]...)
		}
		return c.Reshape(v, x.Type.Shape[axes[0]:]...)
	}
	return c.Apply(ops.LayerNorm, ops.LayerNormAttrs{Axis: axes[0], Epsilon: epsilon}, x, last(gamma, 1), last(beta, 0))
}

// groupNorm standardizes groups of channels; -1 is a group for each.
func groupNorm(c *call) *graph.Value {
	x := c.X(0)
	axis := frontend.Axis(c.Int("axis", -1), x.Type.Rank())
	if axis == 0 {
		compose.Fail("along the batch")
	}
	channels, groups := x.Type.Shape[axis], c.Int("groups", 32)
	if groups == -1 {
		groups = channels
	}
	if groups < 1 || channels%groups != 0 {
		compose.Fail("%d groups of %d channels", groups, channels)
	}
	gamma, beta := c.scaleAndShift(x, []int{axis})
	vector := func(v *graph.Value, absent float64) *graph.Value {
		if v == nil {
			return c.Full(x.Type.DType, absent, channels)
		}
		return c.Reshape(v, channels)
	}
	order := append([]int{0, axis}, slices.DeleteFunc(through(1, x.Type.Rank()), func(k int) bool { return k == axis })...)
	back := make([]int, len(order))
	for to, from := range order {
		back[from] = to
	}
	y := c.Apply(ops.GroupNorm, ops.GroupNormAttrs{Groups: groups, Epsilon: c.Float("epsilon", 1e-3)}, c.Transpose(x, order...), vector(gamma, 1), vector(beta, 0))
	return c.Transpose(y, back...)
}

// rmsNorm divides by the root of the mean square along an axis or several.
func rmsNorm(c *call) *graph.Value {
	x := c.X(0)
	axes := frontend.Axes(c.IntsOr("axis", max(1, len(c.Ints("axis"))), -1), x.Type.Rank())
	gamma, _ := c.scaleAndShift(x, axes)
	square := c.Reduce(ops.Mean, c.Do(ops.Multiply, x, x), true, axes...)
	return c.affine(c.Do(ops.Multiply, x, c.Do(ops.Rsqrt, c.Do(ops.Add, square, compose.Like(x, c.Float("epsilon", 1e-6))))), gamma, nil)
}

// normalization is (x - mean) / max(deviation, 1e-7), or its inverse, of numbers among its options or of those found by adapt.
func normalization(c *call) *graph.Value {
	x := c.X(0)
	axes := frontend.Axes(c.IntsOr("axis", len(c.Ints("axis")), -1), x.Type.Rank())
	shape := slices.Repeat([]int{1}, x.Type.Rank())
	for _, a := range axes {
		shape[a] = x.Type.Shape[a]
	}
	number := func(option string, at int) *graph.Value {
		c.Ignore(option)
		if c.Has(option) {
			t := c.array(c.Values[option], x.Type.DType)
			if t.Type.Elements() == 1 {
				return c.Scalar(t)
			}
			return c.Reshape(t, shape...)
		}
		return c.Reshape(c.weight(at), shape...)
	}
	mean, deviation := number("mean", 0), c.Do(ops.Maximum, c.Sqrt(number("variance", 1)), compose.Like(x, 1e-7))
	if c.Bool("invert", false) {
		return c.Do(ops.Add, mean, c.Do(ops.Multiply, x, deviation))
	}
	return c.Do(ops.Divide, c.Do(ops.Subtract, x, mean), deviation)
}

func unitNorm(c *call) *graph.Value {
	x := c.X(0)
	return c.Apply(ops.L2Normalize, ops.L2NormalizeAttrs{Axis: frontend.Axes(c.IntsOr("axis", max(1, len(c.Ints("axis"))), -1), x.Type.Rank()), Epsilon: 1e-12}, x)
}

// layerScale multiplies channels, the last axis, by weights: a layer of ConvNeXt in keras.applications.
func layerScale(c *call) *graph.Value {
	c.Ignore("init_values", "projection_dim")
	return c.Do(ops.Multiply, c.X(0), c.weight(0))
}
