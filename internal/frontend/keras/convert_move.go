package keras

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// What TimeDistributed becomes around its layer.
const (
	foldSteps   = "TimeDistributed steps to batch"
	unfoldSteps = "TimeDistributed batch to steps"
)

var moveRows = []row{
	{"Flatten", one(flatten)}, {"Reshape", one(reshape)}, {"Permute", one(permute)}, {"RepeatVector", one(repeatVector)},
	{"ZeroPadding1D", one(zeroPadding)}, {"ZeroPadding2D", one(zeroPadding)}, {"ZeroPadding3D", one(zeroPadding)},
	{"Cropping1D", one(cropping)}, {"Cropping2D", one(cropping)}, {"Cropping3D", one(cropping)},
	{foldSteps, one(fold0)}, {unfoldSteps, one(unfold0)},
}

func flatten(c *call) *graph.Value {
	x := c.X(0)
	if x.Type.Rank() > 2 && !c.channelsLast() {
		x = c.ChannelsLast(x)
	} else {
		c.Ignore("data_format")
	}
	return c.Reshape(x, x.Type.Shape[0], types.Count(x.Type.Shape[1:]))
}

// reshape keeps the batch; one extent of -1 is what is left.
func reshape(c *call) *graph.Value {
	x := c.X(0)
	inner := compose.ShapeFor(types.Count(x.Type.Shape[1:]), c.Ints("target_shape"), nil)
	return c.Reshape(x, append([]int{x.Type.Shape[0]}, inner...)...)
}

func permute(c *call) *graph.Value {
	axes := append([]int{0}, c.Ints("dims")...)
	if got := frontend.Axes(axes, c.Rank(0)); len(got) != c.Rank(0) {
		compose.Fail("dims %v for %s", axes[1:], c.X(0).Type)
	}
	return c.Transpose(c.X(0), axes...)
}

func repeatVector(c *call) *graph.Value {
	x, n := c.X(0), c.Int("n", 1)
	return c.BroadcastTo(c.ExpandDims(x, 1), x.Type.Shape[0], n, x.Type.Shape[1])
}

// spatial are the first spatial axis of x and their number.
func (c *call) spatial(x *graph.Value) (from, n int) {
	c.WantRank(0, 3)
	if !c.Has("data_format") || c.channelsLast() {
		return 1, x.Type.Rank() - 2
	}
	return 2, x.Type.Rank() - 2
}

func zeroPadding(c *call) *graph.Value {
	x := c.X(0)
	from, n := c.spatial(x)
	before, after := c.pairs("padding", n)
	a := ops.PadAttrs{PadBefore: make([]int, x.Type.Rank()), PadAfter: make([]int, x.Type.Rank()), Mode: "constant"}
	copy(a.PadBefore[from:], before)
	copy(a.PadAfter[from:], after)
	return c.Apply(ops.Pad, a, x)
}

func cropping(c *call) *graph.Value {
	x := c.X(0)
	from, n := c.spatial(x)
	before, after := c.pairs("cropping", n)
	for k := range n {
		end := x.Type.Shape[from+k] - after[k]
		if before[k] >= end {
			compose.Fail("cropping %d and %d of %d leaves nothing", before[k], after[k], x.Type.Shape[from+k])
		}
		x = c.Slice(x, from+k, before[k], end)
	}
	return x
}

func fold0(c *call) *graph.Value {
	c.WantRank(0, 3)
	s := c.Shape(0)
	return c.Reshape(c.X(0), append([]int{s[0] * s[1]}, s[2:]...)...)
}

func unfold0(c *call) *graph.Value {
	s := c.Shape(1)
	return c.Reshape(c.X(0), append([]int{s[0], s[1]}, c.Shape(0)[1:]...)...)
}
