package tensorflow

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
	{"Flatten", one(func(c *call) *graph.Value { // of text graphs that are written for other tools
		c.WantRank(0, 1)
		return c.Reshape(c.X(0), c.Shape(0)[0], c.X(0).Type.Elements()/max(c.Shape(0)[0], 1))
	})},
	{"Reshape", one(reshape)}, {"Squeeze", one(squeeze)}, {"ExpandDims", one(expandDims)}, {"Transpose", one(transpose)}, {"ConjugateTranspose", one(transpose)}, {"InvertPermutation", one(invertPermutation)},
	{"Pad", one(pad)}, {"PadV2", one(pad)}, {"MirrorPad", one(mirrorPad)}, {"Tile", one(tile)}, {"BroadcastTo", one(broadcastTo)},
	{"ReverseV2", one(reverse)}, {"Reverse", one(reverse)}, {"ReverseSequence", one(reverseSequence)}, {"Roll", one(roll)},
	{"DataFormatVecPermute", one(vecPermute)}, {"DataFormatDimMap", one(vecPermute)},
}

func reshape(c *call) *graph.Value {
	x, shape := c.X(0), slices.Clone(c.KnownInts(1, "the shape"))
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
	name := "squeeze_dims"
	if c.Has("axis") {
		name = "axis"
	}
	x, list := c.X(0), c.Ints(name)
	c.Ignore("squeeze_dims", "axis")
	drop := unique(list, x.Type.Rank())
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

func invertPermutation(c *call) *graph.Value {
	axes := c.KnownInts(0, "the permutation")
	out := make([]int, len(axes))
	for i, a := range axes {
		out[frontend.Axis(a, len(axes))] = i
	}
	return c.Cast(compose.Ints(out...), c.X(0).Type.DType)
}

// pads reads [rank, 2] paddings from operand i.
func (c *call) pads(i int) (before, after []int) {
	list := c.KnownInts(i, "the padding")
	if len(list) != 2*c.Rank(0) {
		compose.Fail("%s of padding for %s", spelling.Count(len(list), "number"), c.X(0).Type)
	}
	for k := range c.Rank(0) {
		if list[2*k] < 0 || list[2*k+1] < 0 {
			compose.Fail("padding %v", list)
		}
		before, after = append(before, list[2*k]), append(after, list[2*k+1])
	}
	return before, after
}

// pad is with operand 2 where there is one, else with 0.
func pad(c *call) *graph.Value {
	before, after := c.pads(1)
	a := ops.PadAttrs{PadBefore: before, PadAfter: after, Mode: "constant"}
	if c.Present(2) {
		return c.Apply(ops.Pad, a, c.X(0), c.Scalar(c.X(2)))
	}
	return c.Apply(ops.Pad, a, c.X(0))
}

func mirrorPad(c *call) *graph.Value {
	return c.mirrored(c, c.OneOf("mode", "", "REFLECT", "SYMMETRIC"))
}

// mirrored pads operand 0 of at by its operand 1 with what it mirrors; SYMMETRIC repeats the edge.
func (c *call) mirrored(at *call, mode string) *graph.Value {
	before, after := at.pads(1)
	x := at.X(0)
	if mode == "REFLECT" {
		return c.Apply(ops.Pad, ops.PadAttrs{PadBefore: before, PadAfter: after, Mode: "reflect"}, x)
	}
	for k := range before {
		n := x.Type.Shape[k]
		if before[k] > n || after[k] > n {
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

// reverse takes axes, or in its first version a truth value for each.
func reverse(c *call) *graph.Value {
	t := c.Known(1, "the axes")
	if t.DType != types.Bool {
		axes := unique(c.KnownInts(1, "the axes"), c.Rank(0))
		if len(axes) == 0 {
			return c.X(0)
		}
		return c.reversed(c.X(0), axes...)
	}
	x := c.X(0)
	for k := range min(t.Len(), x.Type.Rank()) {
		if t.Int(k) != 0 {
			x = c.reversed(x, k)
		}
	}
	return x
}

func reverseSequence(c *call) *graph.Value {
	rank := c.Rank(0)
	return c.Apply(ops.ReverseSequence, ops.ReverseSequenceAttrs{SeqAxis: frontend.Axis(c.Int("seq_dim", 0), rank), BatchAxis: frontend.Axis(c.Int("batch_dim", 0), rank)},
		c.X(0), c.Cast(c.X(1), types.I64))
}

// roll moves elements along axes; what falls out at the end comes in at the beginning.
func roll(c *call) *graph.Value {
	x, shifts, axes := c.X(0), c.KnownInts(1, "the shift"), c.KnownInts(2, "the axis")
	if len(shifts) != len(axes) {
		compose.Fail("shifts %v along axes %v", shifts, axes)
	}
	for i, a := range axes {
		k := frontend.Axis(a, x.Type.Rank())
		n := x.Type.Shape[k]
		if n == 0 {
			continue
		}
		if cut := ((-shifts[i])%n + n) % n; cut != 0 {
			x = c.Concat(k, c.Slice(x, k, cut, n), c.Slice(x, k, 0, cut))
		}
	}
	return x
}

// vecPermute brings axes, or a list with an entry for each, from one order of letters to another.
func vecPermute(c *call) *graph.Value {
	from, to := c.Str("src_format", "NHWC"), c.Str("dst_format", "NCHW")
	places := make([]int, len(from))
	for i := range from {
		k := indexByte(to, from[i])
		if k < 0 || len(from) != len(to) {
			compose.Fail("from %q to %q", from, to)
		}
		places[i] = k
	}
	x := c.X(0)
	if c.Node.Op == "DataFormatDimMap" {
		return c.Apply(ops.Take, ops.TakeAttrs{}, c.Cast(compose.Ints(places...), x.Type.DType), c.Cast(x, types.I64))
	}
	back := make([]int, len(places))
	for i, k := range places {
		back[k] = i
	}
	if n := x.Type.Shape[0]; n < len(back) { // spatial axes only
		var spatial []int
		for _, k := range back {
			if letter := from[k]; letter != 'N' && letter != 'C' {
				spatial = append(spatial, k)
			}
		}
		base := slices.Min(spatial)
		for i := range spatial {
			spatial[i] -= base
		}
		back = spatial
	}
	return c.Apply(ops.Take, ops.TakeAttrs{}, x, compose.Ints(back...))
}

func indexByte(s string, b byte) int { return slices.Index([]byte(s), b) }
