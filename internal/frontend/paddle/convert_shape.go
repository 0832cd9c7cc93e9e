package paddle

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/types"
)

var shapeRows = []row{
	{"reshape", one(reshape)}, {"reshape2", one(reshape)}, {"flatten", one(flattenTwo)}, {"flatten2", one(flattenTwo)}, {"flatten_contiguous_range", one(flattenRange)},
	{"squeeze", one(squeeze)}, {"squeeze2", one(squeeze)}, {"unsqueeze", one(unsqueeze)}, {"unsqueeze2", one(unsqueeze)},
}

// reshape copies an extent for 0 and finds the one of -1.
func reshape(c *call) *graph.Value {
	x := c.x()
	return c.Reshape(x, c.shapeFor(x, c.numbers("shape", "ShapeTensor", "Shape"))...)
}

func (c *call) shapeFor(x *graph.Value, given []int) []int {
	return compose.ShapeFor(x.Type.Elements(), given, x.Type.Shape)
}

// flattenTwo joins the axes before and those from one on.
func flattenTwo(c *call) *graph.Value {
	x, s := c.x(), c.x().Type.Shape
	axis := c.Int("axis", 1)
	if axis < 0 {
		axis += len(s)
	}
	if axis < 0 || axis > len(s) {
		compose.Fail("axis %d of %s", axis, x.Type)
	}
	return c.Reshape(x, types.Count(s[:axis]), types.Count(s[axis:]))
}

func flattenRange(c *call) *graph.Value {
	x, s := c.x(), c.x().Type.Shape
	if len(s) == 0 {
		c.Ignore("start_axis", "stop_axis")
		return c.Reshape(x, 1)
	}
	from, to := c.axis("start_axis", 1), c.axis("stop_axis", -1)
	if from > to {
		compose.Fail("axes %d to %d", from, to)
	}
	return c.Reshape(x, slices.Concat(s[:from], []int{types.Count(s[from : to+1])}, s[to+1:])...)
}

// squeeze drops axes of extent 1 only.
func squeeze(c *call) *graph.Value {
	x := c.x()
	axes := frontend.Axes(c.numbers("axes", "AxesTensor", "AxesTensorList"), x.Type.Rank())
	if c.Has("axis") {
		axes = frontend.Axes(c.Ints("axis"), x.Type.Rank())
	}
	var shape []int
	for k, d := range x.Type.Shape {
		if d != 1 || len(axes) > 0 && !slices.Contains(axes, k) {
			shape = append(shape, d)
		}
	}
	return c.Reshape(x, shape...)
}

// unsqueeze inserts one axis after the other.
func unsqueeze(c *call) *graph.Value {
	x := c.x()
	shape := slices.Clone(x.Type.Shape)
	axes := c.numbers("axes", "AxesTensor", "AxesTensorList")
	if c.Has("axis") {
		axes = c.Ints("axis")
	}
	for _, a := range axes {
		shape = slices.Insert(shape, frontend.Axis(a, len(shape)+1), 1)
	}
	return c.Reshape(x, shape...)
}
