package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

var moveRows = []row{
	{"Reshape", "", 1, one(reshape)}, {"Flatten", "", 1, one(flatten)}, {"Squeeze", "", 1, one(squeeze)},
	{"Unsqueeze", "", 1, one(unsqueeze)}, {"Transpose", "", 1, one(transpose)},
	{"Concat", "", 1, one(concat)}, {"Split", "", 1, split},
	{"Slice", "", 1, one(sliceAttrs)}, {"Slice", "", 10, one(slice)},
	{"Pad", "", 1, one(padAttrs)}, {"Pad", "", 11, one(pad)}, {"CenterCropPad", "", 18, one(centerCropPad)},
	{"Expand", "", 8, one(expandTo)}, {"Tile", "", 1, one(tileAxis)}, {"Tile", "", 6, one(tile)},
	{"DepthToSpace", "", 1, one(depthToSpace)}, {"SpaceToDepth", "", 1, one(spaceToDepth)},
	{"ReverseSequence", "", 10, one(reverseSequence)}, {"Trilu", "", 14, one(trilu)}, {"Col2Im", "", 18, one(col2im)},
}

// reshape resolves 0 (the operand's own extent) and one -1 (what is left).
func reshape(c *call) *graph.Value {
	x := c.X(0)
	c.Ignore("consumed_inputs")
	var want []int
	if c.Node.Version < 5 {
		want = c.Ints("shape")
	} else {
		want = c.KnownInts(1, "shape")
	}
	copyZero := !c.Bool("allowzero", false)
	shape, free := make([]int, len(want)), -1
	count := 1
	for i, n := range want {
		switch {
		case n == 0 && copyZero && i < x.Type.Rank():
			n = x.Type.Shape[i]
		case n == 0 && copyZero:
			compose.Fail("shape %v has a 0 at place %d, where %s has no axis", want, i, x.Type)
		case n == -1 && free >= 0:
			compose.Fail("shape %v has more than one -1", want)
		case n == -1:
			free, n = i, 1
		case n < 0:
			compose.Fail("shape %v has a negative extent", want)
		}
		shape[i] = n
		count = mul(count, n)
	}
	if free >= 0 {
		if count == 0 || x.Type.Elements()%count != 0 {
			compose.Fail("%s does not divide into shape %v", x.Type, want)
		}
		shape[free] = x.Type.Elements() / count
	}
	return c.Reshape(x, shape...)
}

// mul multiplies extents; a product that no tensor can have stops the conversion.
func mul(a, b int) int {
	if b > 0 && a > types.MaxElements/b {
		compose.Fail("a shape has too many elements")
	}
	return a * b
}

func flatten(c *call) *graph.Value {
	x := c.X(0)
	at, rank := c.Int("axis", 1), x.Type.Rank()
	if at < 0 {
		at += rank
	}
	if at < 0 || at > rank {
		compose.Fail("axis %d of a tensor of rank %d", at, rank)
	}
	return c.Reshape(x, types.Count(x.Type.Shape[:at]), types.Count(x.Type.Shape[at:]))
}

func squeeze(c *call) *graph.Value {
	x := c.X(0)
	list := frontend.Axes(c.IntsFrom("axes", 1), x.Type.Rank())
	given := c.Has("axes") || c.Present(1)
	shape := []int{}
	for k, n := range x.Type.Shape {
		switch listed := slices.Contains(list, k); {
		case listed && n != 1:
			compose.Fail("axis %d of %s is not 1", k, x.Type)
		case listed || !given && n == 1:
		default:
			shape = append(shape, n)
		}
	}
	return c.Reshape(x, shape...)
}

func unsqueeze(c *call) *graph.Value {
	x := c.X(0)
	list := c.IntsFrom("axes", 1)
	return c.ExpandDims(x, frontend.Axes(list, x.Type.Rank()+len(list))...)
}

func transpose(c *call) *graph.Value {
	x := c.X(0)
	perm := c.Ints("perm")
	if perm == nil {
		perm = axesFrom(0, x.Type.Rank())
		slices.Reverse(perm)
	}
	for i := range perm {
		perm[i] = frontend.Axis(perm[i], x.Type.Rank())
	}
	return c.Transpose(x, perm...)
}

func concat(c *call) *graph.Value {
	in := c.All()
	absent := 1 // before opset 4
	return c.Concat(frontend.Axis(c.Int("axis", absent), in[0].Type.Rank()), in...)
}

func split(c *call) values {
	x := c.X(0)
	at := frontend.Axis(c.Int("axis", 0), x.Type.Rank())
	extent := x.Type.Shape[at]
	sizes := c.IntsFrom("split", 1)
	if sizes == nil {
		n := c.Int("num_outputs", len(c.Node.Out))
		if n < 1 || n != len(c.Node.Out) {
			compose.Fail("num_outputs is %d, the node has %s", n, spelling.Count(len(c.Node.Out), "output"))
		}
		part := (extent + n - 1) / n
		if c.Node.Version < 18 && extent%n != 0 {
			compose.Fail("axis %d of %s does not divide into %s of equal size", at, x.Type, spelling.Count(n, "part"))
		}
		for left := extent; len(sizes) < n; left -= part {
			sizes = append(sizes, min(part, max(left, 0)))
		}
	}
	return c.Split(x, at, sizes...)
}

func sliceAttrs(c *call) *graph.Value {
	return c.slice(c.Ints("starts"), c.Ints("ends"), c.Ints("axes"), nil)
}

func slice(c *call) *graph.Value {
	var list, steps []int
	if c.Present(3) {
		list = c.KnownInts(3, "axes")
	}
	if c.Present(4) {
		steps = c.KnownInts(4, "steps")
	}
	return c.slice(c.KnownInts(1, "starts"), c.KnownInts(2, "ends"), list, steps)
}

// slice resolves bounds: negative ones count from the end, and starts are clamped to an element of the axis, ends to one
// or what is next to it. A start below the axis is element 0 for negative steps too, where numpy takes nothing.
func (c *call) slice(starts, ends, list, steps []int) *graph.Value {
	x := c.X(0)
	rank := x.Type.Rank()
	if list == nil {
		list = axesFrom(0, len(starts))
	}
	if len(starts) != len(list) || len(ends) != len(list) || steps != nil && len(steps) != len(list) {
		compose.Fail("starts %v, ends %v, axes %v and steps %v differ in length", starts, ends, list, steps)
	}
	a := ops.StridedSliceAttrs{Begin: make([]int, rank), End: slices.Clone(x.Type.Shape), Strides: slices.Repeat([]int{1}, rank)}
	frontend.Axes(list, rank)
	for i, k := range list {
		k = frontend.Axis(k, rank)
		step := 1
		if steps != nil {
			step = steps[i]
		}
		if step == 0 {
			compose.Fail("step 0 on axis %d", k)
		}
		n := x.Type.Shape[k]
		step = min(max(step, -n-1), n+1) // a greater one takes the same elements
		least, most := 0, n              // of an end
		if step < 0 {
			least, most = -1, n-1
		}
		resolve := func(v, lo int) int {
			if v < 0 {
				v = max(v, -n-1) + n
			}
			return min(max(v, lo), most)
		}
		a.Begin[k], a.End[k], a.Strides[k] = resolve(starts[i], 0), resolve(ends[i], least), step
		if (a.End[k]-a.Begin[k])*step <= 0 {
			a.Begin[k], a.End[k], a.Strides[k] = 0, 0, 1
		}
	}
	if slices.Equal(a.End, x.Type.Shape) && types.Count(a.Strides) == 1 && !slices.ContainsFunc(a.Begin, func(b int) bool { return b != 0 }) {
		return x
	}
	return c.Apply(ops.StridedSlice, a, x)
}

// padAttrs is Pad before opset 11.
func padAttrs(c *call) *graph.Value {
	name := "pads"
	if c.Node.Version < 2 {
		name = "paddings"
	}
	a := c.padding(c.Ints(name), nil)
	if v := c.Float("value", 0); v != 0 && a.Mode == "constant" {
		return c.Apply(ops.Pad, a, c.X(0), compose.Like(c.X(0), v))
	}
	return c.Apply(ops.Pad, a, c.X(0))
}

func pad(c *call) *graph.Value {
	var list []int
	if c.Present(3) {
		list = c.KnownInts(3, "axes")
	}
	a := c.padding(c.KnownInts(1, "pads"), list)
	if !c.Present(2) || a.Mode != "constant" {
		return c.Apply(ops.Pad, a, c.X(0))
	}
	return c.Apply(ops.Pad, a, c.X(0), c.Reshape(c.X(2)))
}

// padding reads the mode and spreads pads, which may name axes, over all axes.
func (c *call) padding(pads, list []int) ops.PadAttrs {
	rank := c.Rank(0)
	if list == nil {
		list = axesFrom(0, rank)
	}
	if len(pads) != 2*len(list) {
		compose.Fail("%s for %s; there must be two for each", spelling.Count(len(pads), "pad"), spelling.Count(len(list), "axis"))
	}
	a := ops.PadAttrs{PadBefore: make([]int, rank), PadAfter: make([]int, rank), Mode: c.OneOf("mode", "constant", "constant", "reflect", "edge", "wrap")}
	frontend.Axes(list, rank)
	for i, k := range list {
		k = frontend.Axis(k, rank)
		a.PadBefore[k], a.PadAfter[k] = pads[i], pads[len(list)+i]
	}
	return a
}

// centerCropPad crops or pads axes around their middle.
func centerCropPad(c *call) *graph.Value {
	x := c.X(0)
	rank := x.Type.Rank()
	want, list := c.KnownInts(1, "shape"), c.Ints("axes")
	if list == nil {
		list = axesFrom(0, rank)
	}
	if len(want) != len(list) {
		compose.Fail("shape %v for %s", want, spelling.Count(len(list), "axis"))
	}
	a := ops.PadAttrs{PadBefore: make([]int, rank), PadAfter: make([]int, rank), Mode: "constant"}
	frontend.Axes(list, rank)
	for i, k := range list {
		k = frontend.Axis(k, rank)
		extra := want[i] - x.Type.Shape[k]
		a.PadBefore[k] = extra / 2
		if extra < 0 && extra%2 != 0 {
			a.PadBefore[k] = -(-extra / 2)
		}
		a.PadAfter[k] = extra - a.PadBefore[k]
	}
	return c.Apply(ops.Pad, a, x)
}

// expandTo broadcasts both ways: an extent of 1 in shape keeps the operand's.
func expandTo(c *call) *graph.Value {
	x, want := c.X(0), c.KnownInts(1, "shape")
	shape := slices.Clone(want)
	for len(shape) < x.Type.Rank() {
		shape = slices.Insert(shape, 0, 1)
	}
	lead := len(shape) - x.Type.Rank()
	for k, n := range x.Type.Shape {
		if shape[lead+k] == 1 {
			shape[lead+k] = n
		}
	}
	return c.BroadcastTo(x, shape...)
}

func tile(c *call) *graph.Value {
	return c.Apply(ops.Tile, ops.TileAttrs{Reps: c.KnownInts(1, "repeats")}, c.X(0))
}

// tileAxis is Tile before opset 6: a number of tiles along one axis.
func tileAxis(c *call) *graph.Value {
	reps := slices.Repeat([]int{1}, c.Rank(0))
	reps[frontend.Axis(c.KnownInt(2, "axis"), c.Rank(0))] = c.KnownInt(1, "tiles")
	return c.Apply(ops.Tile, ops.TileAttrs{Reps: reps}, c.X(0))
}

func depthToSpace(c *call) *graph.Value {
	return c.Apply(ops.DepthToSpace, ops.DepthSpaceAttrs{BlockSize: c.Int("blocksize", 0), Mode: c.OneOf("mode", "DCR", "DCR", "CRD")}, c.X(0))
}

func spaceToDepth(c *call) *graph.Value {
	return c.Apply(ops.SpaceToDepth, ops.DepthSpaceAttrs{BlockSize: c.Int("blocksize", 0), Mode: c.OneOf("mode", "DCR", "DCR", "CRD")}, c.X(0))
}

func reverseSequence(c *call) *graph.Value {
	return c.Apply(ops.ReverseSequence, ops.ReverseSequenceAttrs{
		SeqAxis: frontend.Axis(c.Int("time_axis", 0), c.Rank(0)), BatchAxis: frontend.Axis(c.Int("batch_axis", 1), c.Rank(0))}, c.X(0), c.X(1))
}

func trilu(c *call) *graph.Value {
	k := 0
	if c.Present(1) {
		k = c.KnownInt(1, "k")
	}
	return c.Apply(ops.Trilu, ops.TriluAttrs{Upper: c.Bool("upper", true), K: k}, c.X(0))
}

func col2im(c *call) *graph.Value {
	image, block := c.KnownInts(1, "image_shape"), c.KnownInts(2, "block_shape")
	n := len(image)
	return c.Apply(ops.Col2Im, ops.Col2ImAttrs{ImageShape: image, BlockShape: block, Strides: c.IntsOr("strides", n, 1),
		Padding: c.IntsOr("pads", 2*n, 0), Dilation: c.IntsOr("dilations", n, 1)}, c.X(0))
}
