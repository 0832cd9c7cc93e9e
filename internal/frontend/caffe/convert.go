package caffe

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

func relu(c *call) *graph.Value {
	if slope := c.Float("negative_slope", 0); slope != 0 {
		return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: slope}, c.X(0))
	}
	return c.Do(ops.Relu, c.X(0))
}

func relu6(c *call) *graph.Value {
	return c.Do(ops.Minimum, c.Do(ops.Relu, c.X(0)), compose.Like(c.X(0), 6))
}

func prelu(c *call) *graph.Value {
	c.WantRank(0, 2)
	channels := c.Shape(0)[1]
	if c.Bool("channel_shared", false) {
		channels = 1
	}
	slope := c.vector(0, channels)
	if slope.Type.Elements() > 1 {
		slope = c.along(slope, c.X(0), 1)
	}
	return c.Prelu(c.X(0), slope)
}

func elu(c *call) *graph.Value {
	return c.Apply(ops.Elu, ops.AlphaAttrs{Alpha: c.Float("alpha", 1)}, c.X(0))
}

// power is (shift + scale*x)^power.
func power(c *call) *graph.Value {
	y := c.Scaled(c.X(0), c.Float("scale", 1))
	if shift := c.Float("shift", 0); shift != 0 {
		y = c.Do(ops.Add, y, compose.Like(y, shift))
	}
	if p := c.Float("power", 1); p != 1 {
		y = c.Do(ops.Power, y, compose.Like(y, p))
	}
	return y
}

func lrn(c *call) *graph.Value {
	if c.OneOf("norm_region", "ACROSS_CHANNELS", "ACROSS_CHANNELS", "WITHIN_CHANNEL") == "WITHIN_CHANNEL" {
		return c.lrnWithin()
	}
	return c.Apply(ops.LRN, ops.LRNAttrs{Size: c.Int("local_size", 5), Axis: 1, Alpha: c.Float("alpha", 1), Beta: c.Float("beta", 0.75), Bias: c.Float("k", 1)}, c.X(0))
}

// lrnWithin divides by (1 + alpha*mean of the squares around a place)^beta; the mean is over the window within input and padding.
func (c *call) lrnWithin() *graph.Value {
	c.WantRank(0, 4)
	x, size := c.X(0), c.Int("local_size", 5)
	c.Ignore("k")
	pad := (size - 1) / 2
	w := compose.Window{In: x.Type.Shape[2:], Kernel: []int{size, size}, Strides: []int{1, 1}, Padding: slices.Repeat([]int{pad}, 4), Dilation: []int{1, 1}}
	mean := c.AvgPool(c.Do(ops.Multiply, x, x), w, false, true)
	y := c.Do(ops.Add, c.Scaled(mean, c.Float("alpha", 1)), compose.Like(x, 1))
	return c.Do(ops.Multiply, x, c.Do(ops.Power, y, compose.Like(x, -c.Float("beta", 0.75))))
}

// batchNorm standardizes only; mean and variance are to be divided by blob 2, where 0 makes them 0.
func batchNorm(c *call) *graph.Value {
	c.Ignore("moving_average_fraction")
	if !c.Bool("use_global_stats", true) {
		compose.Fail("with the statistics of the batch is not supported")
	}
	c.WantRank(0, 2)
	x, factor, channels := c.X(0), c.vector(2, 1), c.Shape(0)[1]
	if factor.Const == nil || factor.Const.Len() != 1 {
		compose.Fail("blob 2 is %s", factor.Type)
	}
	by := 0.0
	if f := factor.Const.Float(0); f != 0 {
		by = 1 / f
	}
	mean, variance := c.Do(ops.Multiply, c.vector(0, channels), compose.Like(x, by)), c.Do(ops.Multiply, c.vector(1, channels), compose.Like(x, by))
	n := mean.Type.Elements()
	return c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: c.Float("eps", 1e-5)}, x, c.Full(x.Type.DType, 1, n), c.Full(x.Type.DType, 0, n), mean, variance)
}

// factors is the first axis of x that a blob goes along, and the blob's shape: as many axes as num_axes says, -1 being all.
func (c *call) factors(x *graph.Value) (axis int, shape []int) {
	axis = frontend.Axis(c.Int("axis", 1), x.Type.Rank())
	n := c.Int("num_axes", 1)
	if n < 0 || axis+n > x.Type.Rank() {
		n = x.Type.Rank() - axis
	}
	return axis, x.Type.Shape[axis : axis+n]
}

// scale multiplies by a blob, or by its second bottom, from an axis on.
func scale(c *call) *graph.Value {
	x, next := c.X(0), 0
	axis, shape := c.factors(x)
	by := func() *graph.Value { next++; return c.along(c.blob(next-1, shape...), x, axis) }
	var y *graph.Value
	if c.data > 1 {
		y = c.Do(ops.Multiply, x, c.along(c.X(1), x, axis))
	} else {
		y = c.Do(ops.Multiply, x, by())
	}
	if c.Bool("bias_term", false) {
		y = c.Do(ops.Add, y, by())
	}
	return y
}

func bias(c *call) *graph.Value {
	x := c.X(0)
	axis, shape := c.factors(x)
	if c.data > 1 {
		return c.Do(ops.Add, x, c.along(c.X(1), x, axis))
	}
	return c.Do(ops.Add, x, c.along(c.blob(0, shape...), x, axis))
}

func softmax(c *call) *graph.Value {
	return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: frontend.Axis(c.Int("axis", 1), c.Rank(0))}, c.X(0))
}

func eltwise(c *call) *graph.Value {
	c.Ignore("stable_prod_grad")
	in := slices.Clone(c.In[:c.data])
	kind := c.OneOf("operation", "SUM", "SUM", "PROD", "MAX")
	if by := c.Floats("coeff"); by != nil {
		if kind != "SUM" || len(by) != len(in) {
			compose.Fail("%d coefficients for the %s of %d bottoms", len(by), kind, len(in))
		}
		for i := range in {
			in[i] = c.Scaled(in[i], by[i])
		}
	}
	return c.Fold(map[string]*op.Def{"SUM": ops.Add, "PROD": ops.Multiply, "MAX": ops.Maximum}[kind], in...)
}

func concat(c *call) *graph.Value {
	return c.Concat(frontend.Axis(c.Int("axis", c.Int("concat_dim", 1)), c.Rank(0)), c.In[:c.data]...)
}

// slice cuts an axis at given places, or into equal parts.
func slice(c *call) values {
	axis := frontend.Axis(c.Int("axis", c.Int("slice_dim", 1)), c.Rank(0))
	n, parts := c.Shape(0)[axis], len(c.Node.Out)
	at := c.Ints("slice_point")
	if at == nil {
		if parts < 1 || n%parts != 0 {
			compose.Fail("%d parts of %d", parts, n)
		}
		return c.Split(c.X(0), axis, slices.Repeat([]int{n / parts}, parts)...)
	}
	var sizes []int
	from := 0
	for _, to := range append(at, n) {
		if to <= from {
			compose.Fail("slice_point %v of %d", at, n)
		}
		sizes, from = append(sizes, to-from), to
	}
	return c.Split(c.X(0), axis, sizes...)
}

func split(c *call) values { return slices.Repeat(values{c.X(0)}, len(c.Node.Out)) }

func flatten(c *call) *graph.Value {
	x := c.X(0)
	from, to := frontend.Axis(c.Int("axis", 1), x.Type.Rank()), frontend.Axis(c.Int("end_axis", -1), x.Type.Rank())
	if from > to {
		compose.Fail("axes %d to %d", from, to)
	}
	s := x.Type.Shape
	return c.Reshape(x, slices.Concat(s[:from], []int{types.Count(s[from : to+1])}, s[to+1:])...)
}

// reshape copies an extent for 0 and finds the one of -1.
func reshape(c *call) *graph.Value {
	x := c.X(0)
	axis, n := c.Int("axis", 0), c.Int("num_axes", -1)
	if axis < 0 {
		axis += x.Type.Rank() + 1
	}
	if n == -1 {
		n = x.Type.Rank() - axis
	}
	if axis < 0 || n < 0 || axis+n > x.Type.Rank() {
		compose.Fail("%d axes from %d on of %s", n, axis, x.Type)
	}
	s := x.Type.Shape
	inner := s[axis : axis+n]
	shape := compose.ShapeFor(types.Count(inner), c.Ints("shape"), inner)
	return c.Reshape(x, slices.Concat(s[:axis], shape, s[axis+n:])...)
}

func permute(c *call) *graph.Value {
	order := c.Ints("order")
	for k := range c.Rank(0) {
		if !slices.Contains(order, k) {
			order = append(order, k)
		}
	}
	return c.Transpose(c.X(0), order...)
}

// crop gives the first bottom the extents of the second, from an axis on.
func crop(c *call) *graph.Value {
	x, like := c.X(0), c.X(1)
	axis, offset := frontend.Axis(c.Int("axis", 2), x.Type.Rank()), c.Ints("offset")
	if like.Type.Rank() != x.Type.Rank() || len(offset) > 1 && len(offset) != x.Type.Rank()-axis {
		compose.Fail("of %s to %s at %v", x.Type, like.Type, offset)
	}
	for k := axis; k < x.Type.Rank(); k++ {
		from := 0
		if len(offset) == 1 {
			from = offset[0]
		} else if len(offset) > 1 {
			from = offset[k-axis]
		}
		if from < 0 || from+like.Type.Shape[k] > x.Type.Shape[k] {
			compose.Fail("of %s to %s at %v", x.Type, like.Type, offset)
		}
		x = c.Slice(x, k, from, from+like.Type.Shape[k])
	}
	return x
}

func dropout(c *call) *graph.Value {
	c.Ignore("dropout_ratio", "scale_train")
	return c.X(0)
}
