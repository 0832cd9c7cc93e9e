package coreml

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var moveRows = []row{
	{290, "loadConstant", "shape:1s data:2w", one(func(c *call) *graph.Value {
		shape := c.Ints("shape")
		return c.weight("data", append([]int{1}, shape...)...)
	})},
	{1070, "loadConstantND", "shape:1s data:2w", one(func(c *call) *graph.Value { return c.weight("data", c.Ints("shape")...) })},
	{300, "reshape", "targetShape:1s mode:2", one(reshape)}, {301, "flatten", "mode:1", one(flatten)}, {310, "permute", "axis:1s", one(permute)}, {985, "transpose", "axes:1s", one(func(c *call) *graph.Value { return c.Transpose(c.X(0), c.Ints("axes")...) })},
	{320, "concat", "sequenceConcat:100", one(concat)}, {980, "concatND", "axis:1 interleave:2", one(concatND)}, {330, "split", "nOutputs:1", split}, {975, "splitND", "axis:1 numSplits:2 splitSizes:3s", splitND},
	{340, "sequenceRepeat", "nRepetitions:1", one(sequenceRepeat)}, {350, "slice", "startIndex:1 endIndex:2 stride:3 axis:4", one(slice)}, {995, "sliceStatic", "beginIds:1s beginMasks:2s endIds:3s endMasks:4s strides:5s squeezeMasks:6s", one(sliceStatic)},
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
	{960, "reverse", "reverseDim:1s", one(reverse)}, {1045, "batchedMatmul", "transposeA:1 transposeB:2 in:5 out:6 hasBias:7 weights:8w bias:9w", one(batchedMatmul)},
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
	s, open := slices.Clone(target), -1
	for k, d := range s {
		switch {
		case d == 0 && k < x.Type.Rank():
			s[k] = x.Type.Shape[k]
		case d == -1 && open < 0:
			open, s[k] = k, 1
		case d < 0:
			compose.Fail("targetShape %v for %s", target, x.Type)
		}
	}
	if rest := types.Count(s); open >= 0 && rest > 0 {
		s[open] = x.Type.Elements() / rest
	}
	return s
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

func split(c *call) values {
	n, axis := c.Int("nOutputs", len(c.Node.Out)), frontend.Axis(-3, c.Rank(0))
	return c.parts(axis, n, nil)
}

func splitND(c *call) values {
	return c.parts(c.axis("axis", 0), c.Int("numSplits", len(c.Node.Out)), c.Ints("splitSizes"))
}

func (c *call) parts(axis, n int, sizes []int) values {
	all := c.Shape(0)[axis]
	if len(sizes) == 0 {
		if n < 1 || n > 1<<16 || all%n != 0 {
			compose.Fail("%d parts of %d", n, all)
		}
		sizes = slices.Repeat([]int{all / n}, n)
	}
	return c.Split(c.X(0), axis, sizes...)
}

func sequenceRepeat(c *call) *graph.Value {
	c.WantRank(0, 5)
	reps := slices.Repeat([]int{1}, c.Rank(0))
	reps[c.Rank(0)-5] = max(1, c.Int("nRepetitions", 1))
	return c.Apply(ops.Tile, ops.TileAttrs{Reps: reps}, c.X(0))
}

// slice is of one of the last three axes; an end of 0 is that of the axis.
func slice(c *call) *graph.Value {
	axis := frontend.Axis(c.Int("axis", 0)-3, c.Rank(0))
	end := c.Int("endIndex", 0)
	return c.section(c.X(0), axis, c.Int("startIndex", 0), end, max(1, c.Int("stride", 1)), false, end == 0)
}

// section is the elements of an axis from begin to end by a step; a mask stands for the end of the axis in that direction.
func (c *call) section(x *graph.Value, axis, begin, end, step int, maskBegin, maskEnd bool) *graph.Value {
	r, n := x.Type.Rank(), x.Type.Shape[axis]
	clamp := func(v, least, greatest int) int {
		if v < 0 {
			v += n
		}
		return min(max(v, least), greatest)
	}
	a := ops.StridedSliceAttrs{Begin: make([]int, r), End: slices.Clone(x.Type.Shape), Strides: slices.Repeat([]int{1}, r)}
	if a.Strides[axis] = step; step == 0 {
		compose.Fail("a stride of 0")
	}
	if step > 0 {
		a.Begin[axis], a.End[axis] = clamp(begin, 0, n), clamp(end, 0, n)
		if maskBegin {
			a.Begin[axis] = 0
		}
		if maskEnd {
			a.End[axis] = n
		}
		a.End[axis] = max(a.End[axis], a.Begin[axis])
	} else {
		a.Begin[axis], a.End[axis] = clamp(begin, -1, n-1), clamp(end, -1, n-1)
		if maskBegin {
			a.Begin[axis] = n - 1
		}
		if maskEnd {
			a.End[axis] = -1
		}
	}
	return c.Apply(ops.StridedSlice, a, x)
}

func sliceStatic(c *call) *graph.Value {
	x, r := c.X(0), c.Rank(0)
	begins, ends, strides := c.Ints("beginIds"), c.Ints("endIds"), c.IntsOr("strides", r, 1)
	maskBegin, maskEnd, drop := c.IntsOr("beginMasks", r, 0), c.IntsOr("endMasks", r, 0), c.IntsOr("squeezeMasks", r, 0)
	if len(begins) != r || len(ends) != r {
		compose.Fail("of %s from %v to %v", x.Type, begins, ends)
	}
	var gone []int
	for k := range r {
		if drop[k] != 0 {
			gone = append(gone, k)
			ends[k], strides[k] = begins[k]+1, 1
			maskEnd[k] = 0
			if begins[k] == -1 {
				maskEnd[k] = 1
			}
		}
		x = c.section(x, k, begins[k], ends[k], strides[k], maskBegin[k] != 0, maskEnd[k] != 0)
	}
	if len(gone) > 0 {
		x = c.DropAxes(x, gone...)
	}
	return x
}

func reverse(c *call) *graph.Value {
	var axes []int
	for k, yes := range c.Ints("reverseDim") {
		if yes != 0 {
			axes = append(axes, k)
		}
	}
	return c.Apply(ops.Reverse, ops.ReverseAttrs{Axes: axes}, c.X(0))
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
	if step == 0 {
		compose.Fail("a step of 0")
	}
	count := (to - from) / step
	if !(count < 1<<24) {
		compose.Fail("a sequence from %v to %v by %v", from, to, step)
	}
	n := int(max(0, count))
	if float64(n) < count {
		n++
	}
	t := c.Zeros(types.F32, n)
	for i := range n {
		t.SetFloat(i, from+float64(i)*step)
	}
	return compose.Const(t)
}

var reduceRows = slices.Concat([]row{
	{280, "reduce", "mode:1 epsilon:2f axis:3", one(reduce)},
	{1015, "topK", "axis:1 k:2 bottom:3", topK}, {1020, "argMin", "axis:1 removeDim:2", one(arg(ops.ArgMin))}, {1025, "argMax", "axis:1 removeDim:2", one(arg(ops.ArgMax))},
}, reductions())

// kinds are the reductions, in the order of the modes of the layer reduce.
var kinds = []struct {
	number int
	name   string
	f      func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value
}{
	{1270, "reduceSum", plain(ops.Sum)}, {1280, "reduceMean", plain(ops.Mean)}, {1275, "reduceProd", plain(ops.Prod)},
	{1285, "reduceLogSum", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.Log(c.Reduce(ops.Sum, x, keep, axes...))
	}},
	{1290, "reduceSumSquare", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.SumSquare(x, keep, axes...)
	}},
	{1250, "reduceL1", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.LpNorm(x, 1, keep, axes...)
	}},
	{1255, "reduceL2", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.LpNorm(x, 2, keep, axes...)
	}},
	{1260, "reduceMax", plain(ops.Max)}, {1265, "reduceMin", plain(ops.Min)},
	{1295, "reduceLogSumExp", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.LogSumExp(x, keep, axes...)
	}},
}

func plain(d *op.Def) func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
	return func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.Reduce(d, x, keep, axes...)
	}
}

func reductions() (rows []row) {
	for _, k := range kinds {
		rows = append(rows, row{k.number, k.name, "axes:1s keepDims:2 reduceAll:3", one(func(c *call) *graph.Value {
			axes := frontend.Axes(c.Ints("axes"), c.Rank(0))
			if c.Bool("reduceAll", false) {
				axes = nil
			}
			y := k.f(c, c.X(0), c.Bool("keepDims", false), axes)
			if y.Type.Rank() == 0 {
				y = c.Reshape(y, 1)
			}
			return y
		})})
	}
	return rows
}

// reduce keeps its axes. A sum of logarithms is of x + epsilon.
func reduce(c *call) *graph.Value {
	const logSum, argMax = 3, 9
	x, r := c.X(0), c.Rank(0)
	axes := map[int][]int{0: {-3, -2, -1}, 1: {-2, -1}, 2: {-3}, 3: {-2}, 4: {-1}}[c.Int("axis", 0)]
	if axes == nil {
		compose.Fail("axis %d", c.Int("axis", 0))
	}
	axes = frontend.Axes(axes, r)
	epsilon := c.positive("epsilon", 1e-6)
	switch mode := c.Int("mode", 0); {
	case mode == logSum:
		return c.Reduce(ops.Sum, c.Log(c.plus(x, epsilon)), true, axes...)
	case mode == argMax && len(axes) == 1:
		return c.number(c.Apply(ops.ArgMax, ops.ArgAttrs{Axis: axes[0], KeepDims: true}, x))
	case mode < 0 || mode >= argMax:
		compose.Fail("mode %d is not supported", mode)
		return nil
	default:
		return kinds[mode].f(c, x, true, axes)
	}
}

func arg(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		keep := !c.Bool("removeDim", false) || c.Rank(0) == 1
		return c.number(c.Apply(d, ops.ArgAttrs{Axis: c.axis("axis", 0), KeepDims: keep}, c.X(0)))
	}
}

func topK(c *call) values {
	k := c.Int("k", 0)
	if c.data > 1 {
		k = int(c.KnownFloat(1, "k"))
	}
	out := c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: c.axis("axis", 0), Largest: !c.Bool("bottom", false)}, c.X(0))
	return values{out[0], c.number(out[1])}
}
