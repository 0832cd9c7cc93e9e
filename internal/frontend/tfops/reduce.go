package tfops

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Reduced are the axes of operand 1, and whether they are kept.
func Reduced(c *frontend.Call) (axes []int, keep bool) {
	keep = c.Bool("keep_dims", false) || c.Bool("keepdims", false)
	return Axes(c.KnownInts(1, "the axes"), c.Rank(0)), keep
}

// Reduce is along axes; none leave the operand as it is.
func Reduce(d *op.Def) func(c *frontend.Call) *graph.Value {
	return func(c *frontend.Call) *graph.Value {
		axes, keep := Reduced(c)
		if len(axes) == 0 {
			return c.X(0)
		}
		return c.Reduce(d, c.X(0), keep, axes...)
	}
}

// Cumulative is along the axis of operand 1.
func Cumulative(d *op.Def) func(c *frontend.Call) *graph.Value {
	return func(c *frontend.Call) *graph.Value {
		a := ops.CumulativeAttrs{Axis: frontend.Axis(c.KnownInt(1, "the axis"), c.Rank(0)), Exclusive: c.Bool("exclusive", false), Reverse: c.Bool("reverse", false)}
		return c.Apply(d, a, c.X(0))
	}
}

// Sizes are height and width of operand i, for images [batch, height, width, channels].
func Sizes(c *frontend.Call, i int) []int {
	sizes := c.KnownInts(i, "the size")
	if len(sizes) != 2 || c.Rank(0) != 4 || sizes[0] < 1 || sizes[1] < 1 || c.Shape(0)[1] < 1 || c.Shape(0)[2] < 1 {
		compose.Fail("size %v of %s", sizes, c.X(0).Type)
	}
	return sizes
}

// Coordinates is how places in the result and in the operand of a resizing belong together.
func Coordinates(c *frontend.Call) string {
	align, half := c.Bool("align_corners", false), c.Bool("half_pixel_centers", false)
	switch {
	case align && half:
		compose.Fail("align_corners and half_pixel_centers exclude each other")
	case align:
		return "align_corners"
	case half:
		return "half_pixel"
	}
	return "asymmetric"
}

// ResizeNearest is to the size of operand 1.
func ResizeNearest(c *frontend.Call) *graph.Value {
	x, mode := c.X(0), Coordinates(c)
	for k, n := range Sizes(c, 1) {
		x = c.Nearest(x, 1+k, n, mode == "align_corners", mode == "half_pixel")
	}
	return x
}

// Rows is a condition that, where it is a vector, chooses rows of x.
func Rows(c *frontend.Call, condition, x *graph.Value) *graph.Value {
	if condition.Type.Rank() != 1 || x.Type.Rank() < 2 {
		return condition
	}
	return c.Reshape(condition, append([]int{condition.Type.Shape[0]}, slices.Repeat([]int{1}, x.Type.Rank()-1)...)...)
}

// Bitcast between types of one width and kind is the value itself.
func Bitcast(c *frontend.Call, x *graph.Value, d types.DType) *graph.Value {
	if from := x.Type.DType; from.IsFloat() != d.IsFloat() || from.Size() != d.Size() || from == types.Bool || d == types.Bool {
		compose.Fail("the bits of %s as %s are not supported", x.Type.DType, d)
	}
	return c.Cast(x, d)
}

// SquaredDifference of two operands.
func SquaredDifference(c *frontend.Call) *graph.Value {
	d := c.Do(ops.Subtract, c.X(0), c.X(1))
	return c.Do(ops.Multiply, d, d)
}
