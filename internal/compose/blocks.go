package compose

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// SpaceToBatch pads the axes behind the batch with a value, and moves the elements of each block of them to different batch entries: entry
// (i1, i2 ..., batch) has the elements at places i1, i2 ... of the blocks.
func (b *Builder) SpaceToBatch(x *graph.Value, block, before, after []int, value float64) *graph.Value {
	m := len(block)
	rest := make([]int, x.Type.Rank()-1-m)
	x = b.Apply(ops.Pad, ops.PadAttrs{PadBefore: slices.Concat([]int{0}, before, rest), PadAfter: slices.Concat([]int{0}, after, rest), Mode: "constant", Value: value}, x)
	shape, final := []int{x.Type.Shape[0]}, []int{x.Type.Shape[0]}
	var outer, inner []int
	for k, n := range block {
		extent := x.Type.Shape[1+k]
		if n < 1 || extent%n != 0 {
			Fail("axis of %d in blocks of %d", extent, n)
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
	y := b.Transpose(b.Reshape(x, append(shape, tail...)...), axes...)
	return b.Reshape(y, append(final, tail...)...)
}

// BatchToSpace is the inverse; what before and after say is cut off.
func (b *Builder) BatchToSpace(x *graph.Value, block, before, after []int) *graph.Value {
	m, all := len(block), types.Count(block)
	if all < 1 || x.Type.Shape[0]%all != 0 {
		Fail("a batch of %d in blocks of %v", x.Type.Shape[0], block)
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
	y := b.Reshape(b.Transpose(b.Reshape(x, shape...), axes...), append(final, tail...)...)
	for k := range block {
		end := y.Type.Shape[1+k] - after[k]
		if before[k] > end {
			Fail("crops of %d and %d of %d", before[k], after[k], y.Type.Shape[1+k])
		}
		y = b.Slice(y, 1+k, before[k], end)
	}
	return y
}
