package tflite

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
	{"RESHAPE", moved(one(reshape))}, {"SQUEEZE", moved(one(squeeze))}, {"EXPAND_DIMS", moved(one(expandDims))},
	{"TRANSPOSE", moved(one(transpose))}, {"CONCATENATION", one(concatenation)}, {"PACK", one(pack)}, {"UNPACK", moved(unpack)},
	{"SPLIT", split}, {"SPLIT_V", moved(splitV)}, {"PAD", moved(one(pad))}, {"PADV2", moved(one(pad))}, {"MIRROR_PAD", moved(one(mirrorPad))},
	{"TILE", moved(one(tile))}, {"BROADCAST_TO", moved(one(broadcastTo))}, {"REVERSE_V2", moved(one(reverse))}, {"REVERSE_SEQUENCE", moved(one(reverseSequence))},
	{"DENSIFY", one(func(c *call) *graph.Value { return c.X(0) })},
}

// reshape takes the shape from operand 1, or from the option where there is none.
func reshape(c *call) *graph.Value {
	x := c.X(0)
	shape := c.Ints("new_shape")
	if c.Present(1) {
		shape = c.KnownInts(1, "the shape")
	} else if len(shape) == 1 && shape[0] == 0 { // how old converters write a scalar
		shape = nil
	}
	shape = append([]int{}, shape...)
	if c.from(0).elem == elemComplex64 { // real and imaginary part are an axis
		shape = append(shape, 2)
	}
	open, rest := -1, 1
	for i, n := range shape {
		switch {
		case n == -1 && open < 0:
			open = i
		case n < 0:
			compose.Fail("shape %v", shape)
		default:
			rest *= n
		}
	}
	if open >= 0 && (rest == 0 || x.Type.Elements()%rest != 0) {
		compose.Fail("%s has no shape %v", x.Type, shape)
	} else if open >= 0 {
		shape[open] = x.Type.Elements() / rest
	}
	return c.Reshape(x, shape...)
}

func squeeze(c *call) *graph.Value {
	x, list := c.X(0), c.Ints("squeeze_dims")
	drop := frontend.Axes(list, x.Type.Rank())
	var shape []int
	for k, n := range x.Type.Shape {
		given := slices.Contains(drop, k)
		if given && n != 1 {
			compose.Fail("axis %d of %s is not 1", k, x.Type)
		}
		if !given && (n != 1 || len(list) > 0) {
			shape = append(shape, n)
		}
	}
	return c.Reshape(x, shape...)
}

func expandDims(c *call) *graph.Value {
	return c.ExpandDims(c.X(0), frontend.Axis(c.KnownInt(1, "the axis"), c.Rank(0)+1))
}

func transpose(c *call) *graph.Value {
	axes := c.KnownInts(1, "the permutation")
	if len(axes) != c.Rank(0) {
		compose.Fail("permutation %v of %s", axes, c.X(0).Type)
	}
	return c.Transpose(c.X(0), axes...)
}

// concatenation brings quantised operands to the scale of the result.
func concatenation(c *call) *graph.Value {
	to := c.to(0)
	in := slices.Clone(c.All())
	for i, from := range c.op.in {
		if to.quantized() && from.quantized() && !from.sameScale(to) {
			in[i] = c.remapped(in[i], from, to)
		}
	}
	y := c.Concat(frontend.Axis(c.Int("axis", 0), in[0].Type.Rank()), in...)
	if to.quantized() {
		return c.clamped(y, to)
	}
	return c.activated(y)
}

func pack(c *call) *graph.Value {
	c.Ignore("values_count")
	in, to := slices.Clone(c.All()), c.to(0)
	for i, from := range c.op.in {
		if to.quantized() && from.quantized() && !from.sameScale(to) {
			in[i] = c.remapped(in[i], from, to)
		}
	}
	return c.Stack(frontend.Axis(c.Int("axis", 0), in[0].Type.Rank()+1), in...)
}

func unpack(c *call) values {
	c.Ignore("num")
	x := c.X(0)
	c.WantRank(0, 1)
	at := frontend.Axis(c.Int("axis", 0), x.Type.Rank())
	n := x.Type.Shape[at]
	if n > frontend.MaxIterations {
		compose.Fail("%s are not supported; %d are", spelling.Count(n, "part"), frontend.MaxIterations)
	}
	out := slices.Clone(c.Split(x, at, slices.Repeat([]int{1}, n)...))
	for i, p := range out {
		out[i] = c.Squeeze(p, at)
	}
	return out
}

// split has its axis as operand 0.
func split(c *call) values {
	x := c.X(1)
	at := frontend.Axis(c.KnownInt(0, "the axis"), x.Type.Rank())
	n := c.Int("num_splits", 0)
	if n < 1 || n != len(c.Node.Out) || x.Type.Shape[at]%n != 0 {
		compose.Fail("axis %d of %s in %s", at, x.Type, spelling.Count(n, "part"))
	}
	return c.Split(x, at, slices.Repeat([]int{x.Type.Shape[at] / n}, n)...)
}

func splitV(c *call) values {
	c.Ignore("num_splits")
	x, sizes := c.X(0), slices.Clone(c.KnownInts(1, "the sizes"))
	at := frontend.Axis(c.KnownInt(2, "the axis"), x.Type.Rank())
	left := x.Type.Shape[at]
	for _, n := range sizes {
		left -= max(n, 0)
	}
	for i, n := range sizes {
		if n == -1 {
			sizes[i], left = left, 0
		}
	}
	return c.Split(x, at, sizes...)
}

// pads reads [rank, 2] paddings from operand i.
func (c *call) pads(i int) (before, after []int) {
	list := c.KnownInts(i, "the padding")
	if len(list) != 2*c.Rank(0) {
		compose.Fail("%s of padding for %s", spelling.Count(len(list), "number"), c.X(0).Type)
	}
	for k := range c.Rank(0) {
		before, after = append(before, list[2*k]), append(after, list[2*k+1])
	}
	return before, after
}

// pad is with operand 2 where there is one, else with real 0.
func pad(c *call) *graph.Value {
	before, after := c.pads(1)
	a := ops.PadAttrs{PadBefore: before, PadAfter: after, Mode: "constant"}
	if c.Present(2) {
		return c.Apply(ops.Pad, a, c.X(0), c.Scalar(c.X(2)))
	}
	if from := c.from(0); from.quantized() {
		a.Value = float64(from.zero())
	}
	return c.Apply(ops.Pad, a, c.X(0))
}

// mirrorPad repeats the edge in mode 1.
func mirrorPad(c *call) *graph.Value {
	before, after := c.pads(1)
	x := c.X(0)
	if c.Int("mode", 0) == 0 {
		return c.Apply(ops.Pad, ops.PadAttrs{PadBefore: before, PadAfter: after, Mode: "reflect"}, x)
	}
	for k := range before {
		n := x.Type.Shape[k]
		if before[k] < 0 || before[k] > n || after[k] < 0 || after[k] > n {
			compose.Fail("symmetric padding of %d and %d for axis %d of %s", before[k], after[k], k, x.Type)
		}
		parts := values{x}
		if before[k] > 0 {
			parts = values{c.reversed(c.Slice(x, k, 0, before[k]), k), x}
		}
		if after[k] > 0 {
			parts = append(parts, c.reversed(c.Slice(x, k, n-after[k], n), k))
		}
		x = c.Concat(k, parts...)
	}
	return x
}

func (c *call) reversed(x *graph.Value, axes ...int) *graph.Value {
	return c.Apply(ops.Reverse, ops.ReverseAttrs{Axes: axes}, x)
}

func tile(c *call) *graph.Value {
	return c.Apply(ops.Tile, ops.TileAttrs{Reps: c.KnownInts(1, "the multiples")}, c.X(0))
}

func broadcastTo(c *call) *graph.Value {
	return c.BroadcastTo(c.X(0), c.KnownInts(1, "the shape")...)
}

func reverse(c *call) *graph.Value {
	return c.reversed(c.X(0), frontend.Axes(c.KnownInts(1, "the axes"), c.Rank(0))...)
}

func reverseSequence(c *call) *graph.Value {
	rank := c.Rank(0)
	return c.Apply(ops.ReverseSequence, ops.ReverseSequenceAttrs{SeqAxis: frontend.Axis(c.Int("seq_dim", 0), rank), BatchAxis: frontend.Axis(c.Int("batch_dim", 0), rank)},
		c.X(0), c.Cast(c.X(1), types.I64))
}
