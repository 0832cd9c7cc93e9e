package coreml

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var moveRows = []row{
	{290, "loadConstant", "shape:1s data:2w", one(func(c *call) *graph.Value {
		shape := c.Ints("shape")
		return c.weight("data", append([]int{1}, shape...)...)
	})},
	{1070, "loadConstantND", "shape:1s data:2w", one(func(c *call) *graph.Value { return c.weight("data", c.Ints("shape")...) })},
	{300, "reshape", "targetShape:1s mode:2", one(reshape)}, {301, "flatten", "mode:1", one(flatten)}, {310, "permute", "axis:1s", one(permute)},
	{985, "transpose", "axes:1s", one(func(c *call) *graph.Value { return c.Transpose(c.X(0), c.Ints("axes")...) })}, {320, "concat", "sequenceConcat:100", one(concat)},
	{980, "concatND", "axis:1 interleave:2", one(concatND)}, {340, "sequenceRepeat", "nRepetitions:1", one(sequenceRepeat)},
	{920, "tile", "reps:1s", one(func(c *call) *graph.Value { return c.Apply(ops.Tile, ops.TileAttrs{Reps: c.Ints("reps")}, c.X(0)) })},
	{925, "stack", "axis:1", one(func(c *call) *graph.Value {
		return c.Stack(frontend.Axis(c.Int("axis", 0), c.Rank(0)+1), c.operands()...)
	})},
	{930, "gather", "axis:1", one(func(c *call) *graph.Value {
		return c.Apply(ops.Take, ops.TakeAttrs{Axis: c.axis("axis", 0)}, c.X(0), c.index(c.X(1)))
	})},
	{940, "gatherND", "", one(func(c *call) *graph.Value { return c.Apply(ops.GatherND, ops.GatherNDAttrs{}, c.X(0), c.index(c.X(1))) })},
	{952, "gatherAlongAxis", "axis:1", one(func(c *call) *graph.Value {
		return c.Apply(ops.Gather, ops.GatherAttrs{Axis: c.axis("axis", 0)}, c.X(0), c.index(c.X(1)))
	})},
	{1045, "batchedMatmul", "transposeA:1 transposeB:2 in:5 out:6 hasBias:7 weights:8w bias:9w", one(batchedMatmul)},
	{1065, "getShape", "", one(func(c *call) *graph.Value { return c.number(compose.Ints(c.Shape(0)...)) })},
	{1080, "fillLike", "value:1f", one(func(c *call) *graph.Value { return c.Full(types.F32, c.Float("value", 0), c.Shape(0)...) })},
	{1085, "fillStatic", "value:1f targetShape:2s", one(func(c *call) *graph.Value { return c.Full(types.F32, c.Float("value", 0), c.Ints("targetShape")...) })},
	{1100, "broadcastToLike", "", one(func(c *call) *graph.Value { return c.BroadcastTo(c.X(0), c.Shape(1)...) })},
	{1105, "broadcastToStatic", "targetShape:1s", one(func(c *call) *graph.Value { return c.BroadcastTo(c.X(0), c.Ints("targetShape")...) })},
	{1120, "squeeze", "axes:1s squeezeAll:2", one(squeeze)}, {1125, "expandDims", "axes:1s", one(expandDims)}, {1130, "flattenTo2D", "axis:1", one(flattenTo2D)},
	{1135, "reshapeLike", "", one(func(c *call) *graph.Value { return c.Reshape(c.X(0), c.Shape(1)...) })},
	{1140, "reshapeStatic", "targetShape:1s", one(reshapeStatic)}, {1150, "rankPreservingReshape", "targetShape:1s", one(reshapeStatic)},
	{1320, "lowerTriangular", "k:1", one(func(c *call) *graph.Value { return c.Apply(ops.Trilu, ops.TriluAttrs{K: c.Int("k", 0)}, c.X(0)) })},
	{1325, "upperTriangular", "k:1", one(func(c *call) *graph.Value {
		return c.Apply(ops.Trilu, ops.TriluAttrs{Upper: true, K: c.Int("k", 0)}, c.X(0))
	})},
	{635, "rangeStatic", "end:1f start:2f step:3f", one(rangeStatic)},
}

// channelsLast brings the last three axes to height, width, channels, and channelsBack the reverse.
func (c *call) channelsLast(x *graph.Value) *graph.Value { return c.Transpose(x, 0, 2, 3, 1) }
func (c *call) channelsBack(x *graph.Value) *graph.Value { return c.Transpose(x, 0, 3, 1, 2) }

// flatten keeps the axes in front, and two of 1 behind.
func flatten(c *call) *graph.Value {
	x, back := c.images(c.X(0))
	n := types.Count(x.Type.Shape[1:])
	if c.Int("mode", 0) == 1 {
		x = c.channelsLast(x)
	}
	return back(c.Reshape(x, x.Type.Shape[0], n, 1, 1))
}

// reshape has a target of channels, height and width, and may have one of the sequence in front; with mode 1 elements are in the order
// of channels last on both sides.
func reshape(c *call) *graph.Value {
	x, back := c.images(c.X(0))
	target := c.Ints("targetShape")
	last := c.Int("mode", 0) == 1
	s := slices.Clone(target)
	switch len(target) {
	case 3:
		s = append([]int{x.Type.Shape[0]}, target...)
	case 4:
		back = func(y *graph.Value) *graph.Value { return c.ExpandDims(y, 1) }
	default:
		compose.Fail("targetShape %v", target)
	}
	s = c.settle(x, s)
	if last {
		y := c.Reshape(c.channelsLast(x), s[0], s[2], s[3], s[1])
		return back(c.channelsBack(y))
	}
	return back(c.Reshape(x, s...))
}

// settle copies extents for 0 and finds the one of -1.
func (c *call) settle(x *graph.Value, target []int) []int {
	return compose.ShapeFor(x.Type.Elements(), target, x.Type.Shape)
}

func reshapeStatic(c *call) *graph.Value {
	return c.Reshape(c.X(0), c.settle(c.X(0), c.Ints("targetShape"))...)
}

// permute has an order of sequence, channels, height and width; the batch stays the second axis.
func permute(c *call) *graph.Value {
	x, axis := c.X(0), c.Ints("axis")
	if len(axis) == 0 {
		return x
	}
	if len(axis) != 4 || slices.Min(axis) < 0 || slices.Max(axis) > 3 {
		compose.Fail("axis %v", axis)
	}
	switch r := x.Type.Rank(); {
	case r == 5:
		place := []int{0, 2, 3, 4}
		return c.Transpose(x, place[axis[0]], 1, place[axis[1]], place[axis[2]], place[axis[3]])
	case r == 4 && axis[0] == 0:
		return c.Transpose(x, axis...)
	}
	compose.Fail("axis %v of %s", axis, x.Type)
	return nil
}

func concat(c *call) *graph.Value {
	axis := -3
	if c.Bool("sequenceConcat", false) {
		axis = -5
	}
	return c.Concat(frontend.Axis(axis, c.Rank(0)), c.operands()...)
}

func concatND(c *call) *graph.Value {
	if c.Bool("interleave", false) {
		compose.Fail("interleave is not supported")
	}
	return c.Concat(c.axis("axis", 0), c.operands()...)
}

func sequenceRepeat(c *call) *graph.Value {
	c.WantRank(0, 5)
	reps := slices.Repeat([]int{1}, c.Rank(0))
	reps[c.Rank(0)-5] = max(1, c.Int("nRepetitions", 1))
	return c.Apply(ops.Tile, ops.TileAttrs{Reps: reps}, c.X(0))
}

// batchedMatmul is a product of two operands, or of one with a matrix, which is stored by columns.
func batchedMatmul(c *call) *graph.Value {
	x := c.X(0)
	turned := func(v *graph.Value, name string) *graph.Value {
		r := v.Type.Rank()
		if !c.Bool(name, false) || r < 2 || c.data < 2 {
			return v
		}
		return c.Transpose(v, append(compose.LastAxes(v, 0)[:r-2], r-1, r-2)...)
	}
	in, out, hasBias := c.Int("in", 0), c.Int("out", 0), c.Bool("hasBias", false)
	x = turned(x, "transposeA")
	if c.data > 1 {
		return c.NumpyMatmul(x, turned(c.X(1), "transposeB"))
	}
	c.Ignore("transposeB")
	c.WantRank(0, 1)
	s := x.Type.Shape
	lead := s[:len(s)-1]
	y := c.Do(ops.Dense, c.Reshape(x, types.Count(lead), s[len(s)-1]), c.weight("weights", out, in))
	if hasBias {
		y = c.Do(ops.Add, y, c.weight("bias", out))
	}
	return c.Reshape(y, append(slices.Clone(lead), out)...)
}

// squeeze leaves one axis where there would be none.
func squeeze(c *call) *graph.Value {
	x := c.X(0)
	axes := frontend.Axes(c.Ints("axes"), x.Type.Rank())
	all := c.Bool("squeezeAll", false)
	var shape []int
	for k, d := range x.Type.Shape {
		if d != 1 || !all && !slices.Contains(axes, k) {
			shape = append(shape, d)
		}
	}
	if len(shape) == 0 {
		shape = []int{1}
	}
	return c.Reshape(x, shape...)
}

func expandDims(c *call) *graph.Value {
	axes := c.Ints("axes")
	return c.ExpandDims(c.X(0), frontend.Axes(axes, c.Rank(0)+len(axes))...)
}

func flattenTo2D(c *call) *graph.Value {
	s := c.Shape(0)
	axis := c.Int("axis", 0)
	if axis < 0 {
		axis += len(s)
	}
	if axis < 0 || axis > len(s) {
		compose.Fail("axis %d of %s", axis, c.X(0).Type)
	}
	return c.Reshape(c.X(0), types.Count(s[:axis]), types.Count(s[axis:]))
}

func rangeStatic(c *call) *graph.Value {
	from, to, step := c.Float("start", 0), c.Float("end", 0), c.Float("step", 0)
	return c.Range(types.F32, from, to, step)
}
