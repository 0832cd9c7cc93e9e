package tfops

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// Squeeze drops axes of extent 1: those of an attribute, all where it is empty.
func Squeeze(c *frontend.Call) *graph.Value {
	name := "squeeze_dims"
	if c.Has("axis") {
		name = "axis"
	}
	c.Ignore("squeeze_dims", "axis")
	return c.Without(c.X(0), Axes(c.Ints(name), c.Rank(0)))
}

func ExpandDims(c *frontend.Call) *graph.Value {
	return c.ExpandDims(c.X(0), frontend.Axis(c.KnownInt(1, "the axis"), c.Rank(0)+1))
}

func Transpose(c *frontend.Call) *graph.Value {
	axes := c.KnownInts(1, "the permutation")
	if len(axes) != c.Rank(0) {
		compose.Fail("permutation %v of %s", axes, c.X(0).Type)
	}
	return c.Transpose(c.X(0), axes...)
}

// Pads reads [rank, 2] paddings of operand 0 from operand 1.
func Pads(c *frontend.Call) (before, after []int) { return pairs(c, 1, c.Rank(0), "the padding") }

// Pad is with operand 2 where there is one, else with zero.
func Pad(c *frontend.Call, zero float64) *graph.Value {
	before, after := Pads(c)
	a := ops.PadAttrs{PadBefore: before, PadAfter: after, Mode: "constant"}
	if c.Present(2) {
		return c.Apply(ops.Pad, a, c.X(0), c.Scalar(c.X(2)))
	}
	a.Value = zero
	return c.Apply(ops.Pad, a, c.X(0))
}

// MirrorPad pads with what is mirrored, at the edge or, where symmetric, with the edge.
func MirrorPad(c *frontend.Call, symmetric bool) *graph.Value {
	before, after := Pads(c)
	if symmetric {
		return c.Mirror(c.X(0), before, after)
	}
	return c.Apply(ops.Pad, ops.PadAttrs{PadBefore: before, PadAfter: after, Mode: "reflect"}, c.X(0))
}

func Tile(c *frontend.Call) *graph.Value {
	return c.Apply(ops.Tile, ops.TileAttrs{Reps: c.KnownInts(1, "the multiples")}, c.X(0))
}

func BroadcastTo(c *frontend.Call) *graph.Value {
	return c.BroadcastTo(c.X(0), c.KnownInts(1, "the shape")...)
}

// Reverse takes axes, or in its first version a truth value for each.
func Reverse(c *frontend.Call) *graph.Value {
	t, axes := c.Known(1, "the axes"), []int(nil)
	if t.DType != types.Bool {
		axes = Axes(c.KnownInts(1, "the axes"), c.Rank(0))
	} else {
		for k := range min(t.Len(), c.Rank(0)) {
			if t.Int(k) != 0 {
				axes = append(axes, k)
			}
		}
	}
	if len(axes) == 0 {
		return c.X(0)
	}
	return c.Reverse(c.X(0), axes...)
}

func ReverseSequence(c *frontend.Call) *graph.Value {
	rank := c.Rank(0)
	a := ops.ReverseSequenceAttrs{SeqAxis: frontend.Axis(c.Int("seq_dim", 0), rank), BatchAxis: frontend.Axis(c.Int("batch_dim", 0), rank)}
	return c.Apply(ops.ReverseSequence, a, c.X(0), c.Cast(c.X(1), types.I64))
}

// Pack stacks along a new axis.
func Pack(c *frontend.Call) *graph.Value {
	in := c.All()
	return c.Stack(frontend.Axis(c.Int("axis", 0), in[0].Type.Rank()+1), in...)
}

// Unpack are the elements of an axis.
func Unpack(c *frontend.Call) []*graph.Value {
	c.WantRank(0, 1)
	at := frontend.Axis(c.Int("axis", 0), c.Rank(0))
	if n := c.Shape(0)[at]; c.Int("num", n) != n {
		compose.Fail("axis %d of %s in %s", at, c.X(0).Type, spelling.Count(c.Int("num", n), "part"))
	}
	return Elements(c, c.X(0), at)
}

// Elements are those of an axis of x, as far as they are few enough for a value each.
func Elements(c *frontend.Call, x *graph.Value, axis int) []*graph.Value {
	if n := x.Type.Shape[axis]; n > frontend.MaxIterations {
		compose.Fail("%s are not supported; %d are", spelling.Count(n, "part"), frontend.MaxIterations)
	}
	return c.Unstack(x, axis)
}

// Split has its axis as operand 0, and n results.
func Split(c *frontend.Call, n int) []*graph.Value {
	return c.SplitEven(c.X(1), frontend.Axis(c.KnownInt(0, "the axis"), c.Rank(1)), n)
}

// SplitV has the sizes of its results as operand 1.
func SplitV(c *frontend.Call) []*graph.Value {
	c.Ignore("num_split", "num_splits")
	return c.SplitSizes(c.X(0), frontend.Axis(c.KnownInt(2, "the axis"), c.Rank(0)), c.KnownInts(1, "the sizes"))
}

// blocks reads the block shape and the [axes, 2] paddings or crops; the version for two axes has a size of blocks instead of a shape.
func blocks(c *frontend.Call, what string) (block, before, after []int) {
	from := 1
	if c.Has("block_size") {
		n := c.Int("block_size", 0)
		block = []int{n, n}
	} else {
		block, from = c.KnownInts(1, "the block shape"), 2
	}
	if c.Rank(0) < 1+len(block) {
		compose.Fail("block %v of %s", block, c.X(0).Type)
	}
	for _, n := range block {
		if n < 1 {
			compose.Fail("block %v", block)
		}
	}
	before, after = pairs(c, from, len(block), what)
	return block, before, after
}

// SpaceToBatch pads with zero.
func SpaceToBatch(c *frontend.Call, zero float64) *graph.Value {
	block, before, after := blocks(c, "the paddings")
	return c.SpaceToBatch(c.X(0), block, before, after, zero)
}

func BatchToSpace(c *frontend.Call) *graph.Value {
	block, before, after := blocks(c, "the crops")
	return c.BatchToSpace(c.X(0), block, before, after)
}
