package compose

import (
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// TakeBatched looks up slices of x along an axis; the first batch axes of x and of the indices go together. Axes of the result: batch,
// before the axis, those of the indices, behind the axis.
func (b *Builder) TakeBatched(x, index *graph.Value, axis, batch int) *graph.Value {
	if batch == 0 {
		return b.Apply(ops.Take, ops.TakeAttrs{Axis: axis}, x, index)
	}
	rank := x.Type.Rank()
	if batch < 0 || batch > axis || batch > index.Type.Rank() || !slices.Equal(x.Type.Shape[:batch], index.Type.Shape[:batch]) {
		Fail("batch_dims %d of %s by %s along axis %d", batch, x.Type, index.Type, axis)
	}
	var axes, back []int // with the axis brought to the place behind the batch it is a lookup of slices
	for k := range rank {
		if k == batch {
			axes = append(axes, axis)
		}
		if k != axis {
			axes = append(axes, k)
		}
	}
	y := b.Apply(ops.GatherND, ops.GatherNDAttrs{BatchDims: batch}, b.Transpose(x, axes...), b.ExpandDims(index, index.Type.Rank()))
	places := index.Type.Rank() - batch
	for k := range batch {
		back = append(back, k)
	}
	for k := range axis - batch {
		back = append(back, batch+places+k)
	}
	for k := range places {
		back = append(back, batch+k)
	}
	for k := places + axis; k < y.Type.Rank(); k++ {
		back = append(back, k)
	}
	return b.Transpose(y, back...)
}

// Scattered is a tensor of a shape that has values at places, [n, axes] or [n] for a vector, and one number elsewhere. Values are one for each
// place, or one for all.
func (b *Builder) Scattered(shape []int, places, values, elsewhere *graph.Value) *graph.Value {
	at := b.Cast(places, types.I64)
	for at.Type.Rank() < 2 { // one place, or places of a vector
		at = b.ExpandDims(at, at.Type.Rank())
	}
	if places.Type.Rank() == 1 && len(shape) > 1 {
		at = b.Reshape(at, 1, at.Type.Elements())
	}
	return b.Apply(ops.ScatterND, ops.ScatterNDAttrs{Reduction: "none"}, b.BroadcastTo(elsewhere, shape...), at, b.BroadcastTo(values, at.Type.Shape[0]))
}

// Bucketize is how many of the boundaries are not above each number.
func (b *Builder) Bucketize(x *graph.Value, boundaries []float64) *graph.Value {
	above := b.Do(ops.GreaterEqual, b.ExpandDims(b.Cast(x, types.F32), x.Type.Rank()), Floats(boundaries...))
	return b.Reduce(ops.Sum, b.Cast(above, types.I32), false, x.Type.Rank())
}

// Least and Most are what a maximum and a minimum of no numbers are: the bounds of a type, of floats those of float32.
func Least(d types.DType) float64 {
	if d.IsFloat() {
		return -math.MaxFloat32
	}
	lo, _ := d.IntRange()
	return float64(lo)
}

func Most(d types.DType) float64 {
	if d.IsFloat() {
		return math.MaxFloat32
	}
	_, hi := d.IntRange()
	return float64(hi)
}

// maxSegments bounds how many segments there are, and how many numbers of segments.
const maxSegments = 1024

// Segments reduces the rows of each of n segments: id k says which segment row k belongs to, a negative one that it belongs to none. Segments
// without rows are empty.
func (b *Builder) Segments(d *op.Def, x *graph.Value, ids []int, n int, empty float64) *graph.Value {
	if len(ids) != x.Type.Shape[0] || len(ids) == 0 || len(ids) > maxSegments {
		Fail("%s of %s", spelling.Count(len(ids), "segment number"), x.Type)
	}
	if n < 1 || n > maxSegments || n < slices.Max(ids)+1 {
		Fail("%d segments, the last number being %d", n, slices.Max(ids))
	}
	parts := make([]*graph.Value, n)
	for k := range parts {
		var rows []int
		for i, id := range ids {
			if id == k {
				rows = append(rows, i)
			}
		}
		if len(rows) == 0 {
			parts[k] = b.Full(x.Type.DType, empty, x.Type.Shape[1:]...)
			continue
		}
		parts[k] = b.Reduce(d, b.Apply(ops.Take, ops.TakeAttrs{}, x, Ints(rows...)), false, 0)
	}
	return b.Stack(0, parts...)
}

// Diagonal is where row and column are the same.
func (b *Builder) Diagonal(rows, columns int) *graph.Value {
	return b.Do(ops.Equal, b.ExpandDims(b.Arange(rows), 1), b.ExpandDims(b.Arange(columns), 0))
}

// OnDiagonal are matrices with vectors on their diagonals, and 0 elsewhere.
func (b *Builder) OnDiagonal(x *graph.Value) *graph.Value {
	n := x.Type.Shape[x.Type.Rank()-1]
	return b.Do(ops.Where, b.Diagonal(n, n), b.ExpandDims(x, x.Type.Rank()), Like(x, 0))
}

// SetDiagonal replaces the diagonals of matrices by vectors.
func (b *Builder) SetDiagonal(x, d *graph.Value) *graph.Value {
	rank := x.Type.Rank()
	rows, columns := x.Type.Shape[rank-2], x.Type.Shape[rank-1]
	if d.Type.Rank() != rank-1 || d.Type.Shape[rank-2] != min(rows, columns) {
		Fail("a diagonal %s of %s", d.Type, x.Type)
	}
	if rows > columns { // rows behind the last column keep what they have
		a := ops.PadAttrs{PadBefore: make([]int, rank-1), PadAfter: make([]int, rank-1), Mode: "constant"}
		a.PadAfter[rank-2] = rows - columns
		d = b.Apply(ops.Pad, a, d)
	}
	return b.Do(ops.Where, b.Diagonal(rows, columns), b.ExpandDims(d, rank-1), x)
}
