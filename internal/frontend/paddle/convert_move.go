package paddle

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var moveRows = []row{
	{"transpose", one(transpose)}, {"transpose2", one(transpose)}, {"concat", one(concat)}, {"split", split}, {"stack", one(stack)}, {"unstack", unstack},
	{"unbind", unstack}, {"slice", one(slice)}, {"strided_slice", one(slice)}, {"expand", one(tile)}, {"tile", one(tile)}, {"expand_v2", one(expand)},
	{"expand_as_v2", one(expandAs)}, {"expand_as", one(expandAs)}, {"flip", one(flip)}, {"reverse", one(flip)}, {"roll", one(roll)}, {"pad", one(pad)},
	{"pad2d", one(padImage)}, {"pad3d", one(padImage)}, {"tril_triu", one(trilu)}, {"meshgrid", meshgrid}, {"pixel_shuffle", one(pixelShuffle)},
	{"pixel_unshuffle", one(pixelUnshuffle)}, {"space_to_depth", one(spaceToDepth)}, {"shuffle_channel", one(shuffleChannel)},
}

func transpose(c *call) *graph.Value {
	c.Ignore("data_format")
	axes := c.Ints("axis")
	for k, a := range axes {
		axes[k] = frontend.Axis(a, c.x().Type.Rank())
	}
	return c.Transpose(c.x(), axes...)
}

func concat(c *call) *graph.Value {
	in := c.operands("X")
	return c.Concat(frontend.Axis(c.number("axis", 0, "AxisTensor"), in[0].Type.Rank()), in...)
}

// split cuts an axis at given sections, one of which may be open, or into equal parts.
func split(c *call) values {
	x := c.x()
	axis := frontend.Axis(c.number("axis", 0, "AxisTensor"), x.Type.Rank())
	c.Ignore("num")
	sizes := c.numbers("sections", "SectionsTensorList", "SectionsTensor")
	if len(sizes) == 0 {
		return c.SplitEven(x, axis, c.Int("num", 0))
	}
	return c.SplitSizes(x, axis, sizes)
}

func stack(c *call) *graph.Value {
	in := c.operands("X")
	return c.Stack(frontend.Axis(c.Int("axis", 0), in[0].Type.Rank()+1), in...)
}

func unstack(c *call) values {
	c.Ignore("num")
	axis, x := c.axis("axis", 0), c.x()
	n := x.Type.Shape[axis]
	if n > 1<<16 || n != c.n() {
		compose.Fail("%d results of %s", c.n(), x.Type)
	}
	return c.Unstack(x, axis)
}

// slice clamps begins and ends, and drops the axes that decrease_axis names.
func slice(c *call) *graph.Value {
	x := c.operand("Input")
	r := x.Type.Rank()
	axes := c.Ints("axes")
	begins, ends := c.numbers("starts", "StartsTensor", "StartsTensorList"), c.numbers("ends", "EndsTensor", "EndsTensorList")
	strides := c.numbers("strides", "StridesTensor", "StridesTensorList")
	if len(strides) == 0 {
		strides = slices.Repeat([]int{1}, len(axes))
	}
	if len(begins) != len(axes) || len(ends) != len(axes) || len(strides) != len(axes) {
		compose.Fail("axes %v from %v to %v by %v", axes, begins, ends, strides)
	}
	ranges := make([]compose.Range, len(axes))
	for i := range axes {
		ranges[i] = compose.Range{Begin: begins[i], End: ends[i], Step: strides[i]}
	}
	y := c.Ranges(x, frontend.EachAxis(axes, r), ranges)
	var shape []int
	drop := frontend.Axes(c.Ints("decrease_axis"), r)
	for k, d := range y.Type.Shape {
		if !slices.Contains(drop, k) {
			shape = append(shape, d)
		}
	}
	if len(drop) == 0 {
		return y
	}
	return c.Reshape(y, shape...)
}

// tile repeats axes, to which those in front are added.
func tile(c *call) *graph.Value {
	x := c.x()
	reps := c.numbers("repeat_times", "RepeatTimes", "repeat_times_tensor")
	if c.Node.Op == "expand" {
		reps = c.numbers("expand_times", "ExpandTimes", "expand_times_tensor")
	}
	for len(reps) < x.Type.Rank() {
		reps = slices.Insert(reps, 0, 1)
	}
	for x.Type.Rank() < len(reps) {
		x = c.ExpandDims(x, 0)
	}
	return c.Apply(ops.Tile, ops.TileAttrs{Reps: reps}, x)
}

// expand repeats axes of 1; an extent of -1 stays.
func expand(c *call) *graph.Value {
	return c.expandTo(c.x(), c.numbers("shape", "Shape", "expand_shapes_tensor"))
}

func (c *call) expandTo(x *graph.Value, shape []int) *graph.Value {
	shape = slices.Clone(shape)
	lead := len(shape) - x.Type.Rank()
	for k, d := range shape {
		if d == -1 && k >= lead && lead >= 0 {
			shape[k] = x.Type.Shape[k-lead]
		}
	}
	return c.BroadcastTo(x, shape...)
}

func expandAs(c *call) *graph.Value {
	shape := c.Ints("target_shape")
	for _, slot := range []string{"Y", "target_tensor"} {
		if y := c.optional(slot); y != nil {
			shape = y.Type.Shape
		}
	}
	return c.expandTo(c.x(), shape)
}

func flip(c *call) *graph.Value {
	return c.Reverse(c.x(), frontend.Axes(c.Ints("axis"), c.x().Type.Rank())...)
}

// roll turns axes, or all elements as one axis.
func roll(c *call) *graph.Value {
	x := c.x()
	axes, shifts := c.Ints("axis"), c.numbers("shifts", "ShiftsTensor")
	flat := len(axes) == 0
	if flat {
		x, axes = c.Reshape(x, x.Type.Elements()), []int{0}
	}
	x = c.Roll(x, shifts, frontend.EachAxis(axes, x.Type.Rank()))
	if flat {
		x = c.Reshape(x, c.x().Type.Shape...)
	}
	return x
}

// pad has an amount before and one behind for each axis.
func pad(c *call) *graph.Value {
	p := c.Ints("paddings")
	if len(p) != 2*c.x().Type.Rank() {
		compose.Fail("paddings %v for %s", p, c.x().Type)
	}
	a := ops.PadAttrs{Mode: "constant", Value: c.real("pad_value", 0, "PadValue")}
	for k := range c.x().Type.Rank() {
		a.PadBefore, a.PadAfter = append(a.PadBefore, p[2*k]), append(a.PadAfter, p[2*k+1])
	}
	return c.Apply(ops.Pad, a, c.x())
}

// padImage pads spatial axes: of pad2d from the first on, of pad3d from the last.
func padImage(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), "data_format")
	n := x.Type.Rank() - 2
	p := c.numbers("paddings", "Paddings")
	if len(p) != 2*n {
		compose.Fail("paddings %v for %s", p, x.Type)
	}
	modes := map[string]string{"constant": "constant", "reflect": "reflect", "replicate": "edge", "edge": "edge", "circular": "wrap"}
	a := ops.PadAttrs{Mode: modes[c.OneOf("mode", "constant", "constant", "reflect", "replicate", "edge", "circular")], PadBefore: []int{0, 0}, PadAfter: []int{0, 0}}
	a.Value = c.Float("value", c.Float("pad_value", 0))
	for k := range n {
		at := 2 * k
		if c.Node.Op == "pad3d" {
			at = 2 * (n - 1 - k)
		}
		a.PadBefore, a.PadAfter = append(a.PadBefore, p[at]), append(a.PadAfter, p[at+1])
	}
	return back(c.Apply(ops.Pad, a, x))
}

func trilu(c *call) *graph.Value {
	return c.Apply(ops.Trilu, ops.TriluAttrs{Upper: !c.Bool("lower", true), K: c.Int("diagonal", 0)}, c.x())
}

// meshgrid repeats each vector along the axes of the others.
func meshgrid(c *call) values {
	in := c.operands("X")
	var shape []int
	for _, v := range in {
		shape = append(shape, v.Type.Elements())
	}
	out := make(values, len(in))
	for k, v := range in {
		one := slices.Repeat([]int{1}, len(in))
		one[k] = shape[k]
		out[k] = c.BroadcastTo(c.Reshape(v, one...), shape...)
	}
	return out
}

func pixelShuffle(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), "data_format")
	return back(c.Apply(ops.DepthToSpace, ops.DepthSpaceAttrs{BlockSize: c.Int("upscale_factor", 1), Mode: "CRD"}, x))
}

func pixelUnshuffle(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), "data_format")
	return back(c.Apply(ops.SpaceToDepth, ops.DepthSpaceAttrs{BlockSize: c.Int("downscale_factor", 1), Mode: "CRD"}, x))
}

func spaceToDepth(c *call) *graph.Value {
	return c.Apply(ops.SpaceToDepth, ops.DepthSpaceAttrs{BlockSize: c.Int("blocksize", 1), Mode: "DCR"}, c.x())
}

// shuffleChannel makes the channels of groups neighbours.
func shuffleChannel(c *call) *graph.Value {
	x, n := c.x(), c.Int("group", 1)
	c.WantRankOf(x, 2)
	s := x.Type.Shape
	if n < 1 || s[1]%n != 0 {
		compose.Fail("%d groups of %d channels", n, s[1])
	}
	rest := types.Count(s[2:])
	return c.Reshape(c.Transpose(c.Reshape(x, s[0], n, s[1]/n, rest), 0, 2, 1, 3), s...)
}
