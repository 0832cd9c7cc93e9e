package tensorflow

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var blockRows = []row{
	{"SpaceToDepth", one(spaceToDepth)}, {"DepthToSpace", one(depthToSpace)},
	{"SpaceToBatchND", one(spaceToBatch)}, {"BatchToSpaceND", one(batchToSpace)}, {"SpaceToBatch", one(spaceToBatch)}, {"BatchToSpace", one(batchToSpace)},
}

func spaceToDepth(c *call) *graph.Value {
	return c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		return c.Apply(ops.SpaceToDepth, ops.DepthSpaceAttrs{BlockSize: c.Int("block_size", 0), Mode: "DCR"}, x)
	})
}

func depthToSpace(c *call) *graph.Value {
	return c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		return c.Apply(ops.DepthToSpace, ops.DepthSpaceAttrs{BlockSize: c.Int("block_size", 0), Mode: "DCR"}, x)
	})
}

// blocks reads the block shape and the [axes, 2] paddings or crops.
func (c *call) blocks(what string) (block, before, after []int) {
	var list []int
	if c.Has("block_size") { // the version for two axes
		n := c.Int("block_size", 0)
		block, list = []int{n, n}, c.KnownInts(1, what)
	} else {
		block, list = c.KnownInts(1, "the block shape"), c.KnownInts(2, what)
	}
	if len(list) != 2*len(block) || c.Rank(0) < 1+len(block) {
		compose.Fail("block %v and %s %v of %s", block, what, list, c.X(0).Type)
	}
	for k, n := range block {
		if n < 1 || list[2*k] < 0 || list[2*k+1] < 0 {
			compose.Fail("block %v and %s %v", block, what, list)
		}
		before, after = append(before, list[2*k]), append(after, list[2*k+1])
	}
	return block, before, after
}

// spaceToBatch pads and moves the elements of each block to different batch entries.
func spaceToBatch(c *call) *graph.Value {
	block, before, after := c.blocks("the paddings")
	x, m := c.X(0), len(block)
	rest := x.Type.Rank() - 1 - m
	x = c.Apply(ops.Pad, ops.PadAttrs{PadBefore: append(append([]int{0}, before...), make([]int, rest)...), PadAfter: append(append([]int{0}, after...), make([]int, rest)...), Mode: "constant"}, x)
	shape, final := []int{x.Type.Shape[0]}, []int{x.Type.Shape[0]}
	var outer, inner []int
	for k, n := range block {
		extent := x.Type.Shape[1+k]
		if extent%n != 0 {
			compose.Fail("axis of %d in blocks of %d", extent, n)
		}
		shape = append(shape, extent/n, n)
		outer, inner = append(outer, 1+2*k), append(inner, 2+2*k)
		final[0] *= n
		final = append(final, extent/n)
	}
	tail := x.Type.Shape[1+m:]
	axes := append(append(inner, 0), outer...)
	for k := range tail {
		axes = append(axes, 1+2*m+k)
	}
	y := c.Transpose(c.Reshape(x, append(shape, tail...)...), axes...)
	return c.Reshape(y, append(final, tail...)...)
}

// batchToSpace is the inverse, and crops.
func batchToSpace(c *call) *graph.Value {
	block, before, after := c.blocks("the crops")
	x, m, all := c.X(0), len(block), 1
	for _, n := range block {
		all *= n
	}
	if x.Type.Shape[0]%all != 0 {
		compose.Fail("a batch of %d in blocks of %v", x.Type.Shape[0], block)
	}
	batch, tail := x.Type.Shape[0]/all, x.Type.Shape[1+m:]
	shape := append(append(slices.Clone(block), batch), x.Type.Shape[1:]...)
	axes, final := []int{m}, []int{batch}
	for k, n := range block {
		axes = append(axes, m+1+k, k)
		final = append(final, x.Type.Shape[1+k]*n)
	}
	for k := range tail {
		axes = append(axes, 2*m+1+k)
	}
	y := c.Reshape(c.Transpose(c.Reshape(x, shape...), axes...), append(final, tail...)...)
	for k := range block {
		end := y.Type.Shape[1+k] - after[k]
		if before[k] > end {
			compose.Fail("crops of %d and %d of %d", before[k], after[k], y.Type.Shape[1+k])
		}
		y = c.Slice(y, 1+k, before[k], end)
	}
	return y
}
