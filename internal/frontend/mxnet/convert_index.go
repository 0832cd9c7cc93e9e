package mxnet

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// indexRows choose or repeat elements.
var indexRows = []row{
	{"slice", sliceRange}, {"crop", sliceRange}, {"slice_like", sliceLike}, {"Crop", crop}, {"broadcast_to", broadcastTo}, {"_npi_broadcast_to", broadcastTo},
	{"broadcast_axis", broadcastAxis}, {"broadcast_axes", broadcastAxis}, {"broadcast_like", func(c *call) *graph.Value {
		c.Ignore("lhs_axes", "rhs_axes")
		if c.Has("lhs_axes") || c.Has("rhs_axes") {
			compose.Fail("along some axes it is not supported")
		}
		return c.BroadcastTo(c.X(0), c.Shape(1)...)
	}},
	{"tile", tile}, {"_npi_tile", tile}, {"repeat", repeat}, {"reverse", reverse}, {"flip", reverse}, {"stack", stack}, {"_npi_stack", stack}, {"take", take},
	{"_npi_take", take}, {"batch_take", batchTake}, {"pick", pick}, {"gather_nd", gatherND},
	{"shape_array", func(c *call) *graph.Value { return compose.Ints(c.Shape(0)...) }},
	{"size_array", func(c *call) *graph.Value { return compose.Ints(c.X(0).Type.Elements()) }}, {"reshape_like", func(c *call) *graph.Value {
		if len(c.Ints("lhs_begin"))+len(c.Ints("lhs_end"))+len(c.Ints("rhs_begin"))+len(c.Ints("rhs_end")) > 0 {
			compose.Fail("of some axes it is not supported")
		}
		return c.Reshape(c.X(0), c.Shape(1)...)
	}},
	{"depth_to_space", block(ops.DepthToSpace)}, {"space_to_depth", block(ops.SpaceToDepth)}, {"_linalg_gemm2", gemm2}, {"linalg_gemm2", gemm2},
	{"BilinearSampler", func(c *call) *graph.Value {
		c.Ignore("cudnn_off")
		return c.Apply(ops.GridSample, ops.GridSampleAttrs{Method: "linear", PaddingMode: "zeros", AlignCorners: true}, c.X(0), c.Transpose(c.X(1), 0, 2, 3, 1))
	}},
	{"_rnn_param_concat", rnnParams},
}

// sliceRange takes [begin, end) by step of the first axes, None for a bound being the axis's own.
func sliceRange(c *call) *graph.Value {
	x := c.X(0)
	s := x.Type.Shape
	bounds := func(name string) []any {
		c.Ignore(name)
		v := c.Node.Attrs.(frontend.Values)[name]
		list, ok := v.([]any)
		if !ok && v != nil {
			list = []any{v}
		}
		return list
	}
	begin, end, step := bounds("begin"), bounds("end"), bounds("step")
	if len(begin) != len(end) || len(begin) > len(s) || len(step) > len(s) {
		compose.Fail("from %v to %v of %s", begin, end, x.Type)
	}
	number := func(list []any, k int) (n int, absent bool) {
		if k >= len(list) || list[k] == "None" || list[k] == nil {
			return 0, true
		}
		f, ok := list[k].(float64)
		if !ok || f != float64(int(f)) {
			compose.Fail("bound %.40v", list[k])
		}
		return int(f), false
	}
	var ranges []compose.Range
	for k := range begin {
		var r compose.Range
		r.Begin, r.NoBegin = number(begin, k)
		r.End, r.NoEnd = number(end, k)
		if r.Step, _ = number(step, k); r.Step == 0 {
			r.Step = 1
		}
		if _, _, _, count := r.Of(s[k]); count == 0 {
			compose.Fail("nothing from %v to %v of %s", begin, end, x.Type)
		}
		ranges = append(ranges, r)
	}
	return c.Ranges(x, compose.LastAxes(x, 0)[:len(ranges)], ranges)
}

func sliceLike(c *call) *graph.Value {
	x, axes := c.X(0), frontend.Axes(c.Ints("axes"), c.Rank(0))
	if len(axes) == 0 {
		axes = compose.LastAxes(x, 0)
	}
	for _, k := range axes {
		if k >= c.Rank(1) || c.Shape(1)[k] > x.Type.Shape[k] {
			compose.Fail("%s like %s", x.Type, c.X(1).Type)
		}
		x = c.Slice(x, k, 0, c.Shape(1)[k])
	}
	return x
}

// crop gives height and width those of the second operand, or h_w, from an offset or in the middle.
func crop(c *call) *graph.Value {
	c.WantRank(0, 4)
	x, size, offset := c.X(0), c.IntsOr("h_w", 2, 0), c.IntsOr("offset", 2, 0)
	if c.Present(1) {
		c.WantRank(1, 4)
		size = c.Shape(1)[2:]
	}
	middle := c.Bool("center_crop", false)
	for k := range 2 {
		n, from := x.Type.Shape[2+k], offset[k]
		if middle {
			from = (n - size[k]) / 2
		}
		if size[k] < 1 || from < 0 || from+size[k] > n {
			compose.Fail("%d elements from %d on of %d", size[k], from, n)
		}
		x = c.Slice(x, 2+k, from, from+size[k])
	}
	return x
}

func broadcastTo(c *call) *graph.Value {
	x, shape := c.X(0), slices.Clone(c.Ints("shape"))
	for k := range shape {
		if own := k - (len(shape) - x.Type.Rank()); (shape[k] == 0 || shape[k] == -2) && own >= 0 {
			shape[k] = x.Type.Shape[own]
		}
	}
	return c.BroadcastTo(x, shape...)
}

func broadcastAxis(c *call) *graph.Value {
	x, axes, sizes := c.X(0), c.Ints("axis"), c.Ints("size")
	shape := slices.Clone(x.Type.Shape)
	if len(axes) != len(sizes) {
		compose.Fail("axes %v with sizes %v", axes, sizes)
	}
	for i, a := range axes {
		shape[frontend.Axis(a, len(shape))] = sizes[i]
	}
	return c.BroadcastTo(x, shape...)
}

func tile(c *call) *graph.Value {
	x, reps := c.X(0), c.Ints("reps")
	for len(reps) < x.Type.Rank() {
		reps = append([]int{1}, reps...)
	}
	for len(reps) > x.Type.Rank() {
		x = c.ExpandDims(x, 0)
	}
	return c.Apply(ops.Tile, ops.TileAttrs{Reps: reps}, x)
}

func repeat(c *call) *graph.Value {
	x := c.X(0)
	if !c.Has("axis") {
		x = c.Reshape(x, x.Type.Elements())
	}
	return c.Apply(ops.Repeat, ops.RepeatAttrs{Axis: frontend.Axis(c.Int("axis", 0), x.Type.Rank()), Repeats: c.Int("repeats", 1)}, x)
}

func reverse(c *call) *graph.Value {
	return c.Reverse(c.X(0), frontend.Axes(c.Ints("axis"), c.Rank(0))...)
}

func stack(c *call) *graph.Value {
	return c.Stack(frontend.Axis(c.Int("axis", 0), c.Rank(0)+1), c.All()...)
}

// indices are operand i as whole numbers within [0, n), by clipping, or by counting around.
func (c *call) indices(i, n int, mode string) *graph.Value {
	x := c.Cast(c.X(i), types.I64)
	if mode == "wrap" {
		return c.Do(ops.FloorMod, x, compose.Number(types.I64, float64(max(n, 1))))
	}
	return c.Do(ops.Minimum, c.Do(ops.Maximum, x, compose.Number(types.I64, 0)), compose.Number(types.I64, float64(max(n-1, 0))))
}

func take(c *call) *graph.Value {
	axis := frontend.Axis(c.Int("axis", 0), c.Rank(0))
	i := c.indices(1, c.Shape(0)[axis], c.OneOf("mode", "clip", "clip", "wrap", "raise"))
	return c.Apply(ops.Take, ops.TakeAttrs{Axis: axis}, c.X(0), i)
}

// batchTake takes one element of each row.
func batchTake(c *call) *graph.Value {
	c.WantRank(0, 2)
	n := c.Shape(0)[1]
	i := c.Reshape(c.indices(1, n, "clip"), c.Shape(0)[0], 1)
	return c.Reshape(c.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, c.X(0), i), c.Shape(1)...)
}

// pick takes one element of an axis for each place of the others.
func pick(c *call) *graph.Value {
	x := c.X(0)
	axis := frontend.Axis(c.Int("axis", -1), x.Type.Rank())
	shape := slices.Clone(x.Type.Shape)
	shape[axis] = 1
	i := c.indices(1, x.Type.Shape[axis], c.OneOf("mode", "clip", "clip", "wrap"))
	if i.Type.Elements() != types.Count(shape) {
		compose.Fail("places %s in %s", i.Type, x.Type)
	}
	y := c.Apply(ops.Gather, ops.GatherAttrs{Axis: axis}, x, c.Reshape(i, shape...))
	if c.Bool("keepdims", false) {
		return y
	}
	return c.Squeeze(y, axis)
}

// gatherND has the coordinates along the first axis.
func gatherND(c *call) *graph.Value {
	i := c.Cast(c.X(1), types.I64)
	c.WantRank(1, 1)
	var axes []int
	for k := 1; k < i.Type.Rank(); k++ {
		axes = append(axes, k)
	}
	return c.Apply(ops.GatherND, ops.GatherNDAttrs{}, c.X(0), c.Transpose(i, append(axes, 0)...))
}

func block(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		return c.Apply(d, ops.DepthSpaceAttrs{BlockSize: c.Int("block_size", 0), Mode: "DCR"}, c.X(0))
	}
}

func gemm2(c *call) *graph.Value {
	if c.Int("axis", -2) != -2 {
		compose.Fail("axis %d is not supported", c.Int("axis", -2))
	}
	return c.Scaled(batchDot(c), c.Float("alpha", 1))
}

// rnnParams joins the parameters of a fused recurrent layer as one vector.
func rnnParams(c *call) *graph.Value {
	c.Ignore("dim")
	var parts values
	for _, x := range c.All() {
		parts = append(parts, c.Reshape(x, x.Type.Elements()))
	}
	return c.Concat(0, parts...)
}
