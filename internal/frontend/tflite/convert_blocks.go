package tflite

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// blockRows are the operators that bring blocks of an image to channels or to the batch and back, and those that spread its elements.
var blockRows = []row{
	{"SPACE_TO_DEPTH", moved(one(spaceToDepth))}, {"DEPTH_TO_SPACE", moved(one(depthToSpace))},
	{"SPACE_TO_BATCH_ND", moved(one(spaceToBatch))}, {"BATCH_TO_SPACE_ND", moved(one(batchToSpace))}, {"DILATE", moved(one(dilate))},
}

func spaceToDepth(c *call) *graph.Value {
	return c.last(c.Apply(ops.SpaceToDepth, ops.DepthSpaceAttrs{BlockSize: c.Int("block_size", 0), Mode: "DCR"}, c.first(c.X(0))))
}

func depthToSpace(c *call) *graph.Value {
	return c.last(c.Apply(ops.DepthToSpace, ops.DepthSpaceAttrs{BlockSize: c.Int("block_size", 0), Mode: "DCR"}, c.first(c.X(0))))
}

// blocks reads the block shape and the [axes, 2] paddings or crops.
func (c *call) blocks(what string) (block, before, after []int) {
	block = c.KnownInts(1, "the block shape")
	list := c.KnownInts(2, what)
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
	a := ops.PadAttrs{PadBefore: append(append([]int{0}, before...), make([]int, rest)...), PadAfter: append(append([]int{0}, after...), make([]int, rest)...), Mode: "constant"}
	if from := c.from(0); from.quantized() {
		a.Value = float64(from.zero())
	}
	x = c.Apply(ops.Pad, a, x)
	batch, shape := x.Type.Shape[0], []int{x.Type.Shape[0]}
	var outer, inner []int
	final := []int{batch}
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

// dilate puts values between the elements of each axis.
func dilate(c *call) *graph.Value {
	x, steps, value := c.X(0), c.KnownInts(1, "the dilations"), c.Known(2, "the padding value")
	if len(steps) != x.Type.Rank() || value.Len() != 1 {
		compose.Fail("dilations %v of %s, with %d padding values", steps, x.Type, value.Len())
	}
	for axis, step := range steps {
		if step < 1 || step > types.MaxElements {
			compose.Fail("dilations %v", steps)
		}
		x = c.spread(x, axis, step, value.Float(0))
	}
	return x
}
