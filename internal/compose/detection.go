package compose

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// An OrderedSuppression walks boxes in an order, and drops those that overlap one that it kept (greedy non-maximum suppression).
type OrderedSuppression struct {
	Boxes     *graph.Value // [rows, n, 4]: corners x1, y1, x2, y2 in the order of falling scores
	Labels    *graph.Value // [rows, n], of boxes that suppress each other where they are equal; nil: all do
	Keep      *graph.Value // bool [rows, n]: boxes that take part
	Threshold float64      // of the intersection over the union
	Equal     bool         // an overlap of just the threshold is too much
}

// SuppressInOrder tells which boxes are kept: bool [rows, n].
func (b *Builder) SuppressInOrder(s OrderedSuppression) *graph.Value {
	n := s.Boxes.Type.Shape[1]
	var corners [4]*graph.Value // [rows, n]
	for k := range corners {
		corners[k] = b.At(s.Boxes, 2, k)
	}
	extent := func(lo, hi *graph.Value) *graph.Value {
		d := b.Do(ops.Subtract, hi, lo)
		return b.Do(ops.Maximum, d, Like(d, 0))
	}
	areas := b.Do(ops.Multiply, extent(corners[0], corners[2]), extent(corners[1], corners[3]))
	// Loops take turns along the first axis.
	a := graph.LoopAttrs{Trips: n, Carried: 1, Sequences: 3}
	in := []*graph.Value{s.Keep, b.Arange(n), b.Transpose(s.Boxes, 1, 0, 2), b.Transpose(areas, 1, 0)}
	if s.Labels != nil {
		in = append(in, b.Transpose(s.Labels, 1, 0))
		a.Sequences++
	}
	places := b.ExpandDims(b.Arange(n), 0)
	out := b.Iterate(a, in, func(in []*graph.Value) []*graph.Value {
		keep, i, box := in[0], in[1], in[2]
		one := func(k int) *graph.Value { return b.ExpandDims(b.At(box, 1, k), 1) }
		both := b.Do(ops.Multiply, extent(b.Do(ops.Maximum, corners[0], one(0)), b.Do(ops.Minimum, corners[2], one(2))),
			extent(b.Do(ops.Maximum, corners[1], one(1)), b.Do(ops.Minimum, corners[3], one(3))))
		union := b.Do(ops.Subtract, b.Do(ops.Add, areas, b.ExpandDims(in[3], 1)), both)
		over := ops.Greater
		if s.Equal {
			over = ops.GreaterEqual
		}
		drop := b.Do(over, both, b.Scaled(union, s.Threshold))
		drop = b.Do(ops.LogicalAnd, drop, b.Do(ops.Greater, union, Like(union, 0)))
		drop = b.Do(ops.LogicalAnd, drop, b.Do(ops.Greater, places, i))
		if s.Labels != nil {
			drop = b.Do(ops.LogicalAnd, drop, b.Do(ops.Equal, s.Labels, b.ExpandDims(in[4], 1)))
		}
		kept := b.Reduce(ops.Any, b.Do(ops.LogicalAnd, keep, b.Do(ops.Equal, places, i)), true, 1)
		return []*graph.Value{b.Do(ops.LogicalAnd, keep, b.Do(ops.LogicalNot, b.Do(ops.LogicalAnd, kept, drop)))}
	})
	return out[0]
}

// Sorted are the k greatest scores [rows, n] of each row, and where they stood.
func (b *Builder) Sorted(scores *graph.Value, k int) (best, places *graph.Value) {
	out := b.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: 1, Largest: true}, scores)
	return out[0], out[1]
}

// Rows are the rows of x [rows, n, width] at places [rows, k]: [rows, k, width].
func (b *Builder) Rows(x, places *graph.Value) *graph.Value {
	s := places.Type.Shape
	return b.Apply(ops.Gather, ops.GatherAttrs{Axis: 1}, x, b.BroadcastTo(b.ExpandDims(b.Cast(places, types.I64), 2), s[0], s[1], x.Type.Shape[2]))
}

// DecodeBoxes are corners [rows, n, 4] of offsets from anchors, both [rows or 1, n, 4], with anchors as corners: centers move by offsets times variance
// times extents, and extents grow by the exponential (Liu et al., SSD, 2015).
func (b *Builder) DecodeBoxes(offsets, anchors *graph.Value, variance [4]float64, clip bool) *graph.Value {
	part := func(x *graph.Value, k int) *graph.Value { return b.Slice(x, 2, k, k+1) }
	var low, high [2]*graph.Value
	for k := range 2 {
		size := b.Do(ops.Subtract, part(anchors, 2+k), part(anchors, k))
		center := b.Scaled(b.Do(ops.Add, part(anchors, 2+k), part(anchors, k)), 0.5)
		center = b.Do(ops.Add, center, b.Do(ops.Multiply, b.Scaled(part(offsets, k), variance[k]), size))
		half := b.Scaled(b.Do(ops.Multiply, b.Do(ops.Exp, b.Scaled(part(offsets, 2+k), variance[2+k])), size), 0.5)
		low[k], high[k] = b.Do(ops.Subtract, center, half), b.Do(ops.Add, center, half)
	}
	y := b.Concat(2, low[0], low[1], high[0], high[1])
	if clip {
		y = b.Apply(ops.Clip, ops.ClipAttrs{HasMin: true, Min: 0, HasMax: true, Max: 1}, y)
	}
	return y
}
