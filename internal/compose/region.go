package compose

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A RegionPool averages the elements of the bins of regions, where each bin reads channels of its own (Dai et al., R-FCN, 2016). Edges of bins are rounded
// outwards and cut to the data; a bin without elements is 0.
type RegionPool struct {
	Bins  int             // along each axis
	Batch *graph.Value    // int64 [regions]: the picture that a region belongs to
	Start [2]*graph.Value // [regions]: y and x of its upper left corner, in elements
	Size  [2]*graph.Value // its height and width
}

// PSRoiPool reads data [batch, channels*bins*bins, height, width]: [regions, channels, bins, bins].
func (b *Builder) PSRoiPool(p RegionPool, x *graph.Value) *graph.Value {
	s, bins := x.Type.Shape, p.Bins
	if len(s) != 4 || bins < 1 || s[1]%(bins*bins) != 0 || s[1] == 0 || p.Batch.Type.Rank() != 1 {
		Fail("%d x %d bins of %s", bins, bins, x.Type)
	}
	regions, channels := p.Batch.Type.Shape[0], s[1]/(bins*bins)
	places := func(n int) *graph.Value { return b.Cast(b.Arange(n), types.F32) }
	var inside, count [2]*graph.Value // [regions, bins, extent], [regions, bins]
	for k := range inside {
		extent := float64(s[2+k])
		step, start := b.ExpandDims(b.Scaled(p.Size[k], 1/float64(bins)), 1), b.ExpandDims(p.Start[k], 1)
		edge := func(v *graph.Value) *graph.Value { return b.Clipped(v, 0, extent) }
		at := func(by float64) *graph.Value {
			return b.Do(ops.Add, b.Do(ops.Multiply, b.Do(ops.Add, places(bins), Like(step, by)), step), start)
		}
		low, high := edge(b.Do(ops.Floor, at(0))), edge(b.Do(ops.Ceil, at(1)))
		count[k] = b.Do(ops.Maximum, b.Do(ops.Subtract, high, low), Like(low, 0))
		l := places(s[2+k])
		inside[k] = b.Cast(b.Do(ops.LogicalAnd, b.Do(ops.LessEqual, b.ExpandDims(low, 2), l), b.Do(ops.Less, l, b.ExpandDims(high, 2))), x.Type.DType)
	}
	own := b.Cast(b.Do(ops.Equal, b.ExpandDims(p.Batch, 1), b.Arange(s[0])), x.Type.DType) // [regions, batch]
	rows := b.Do(ops.Multiply, b.Reshape(own, regions, 1, s[0], 1), b.ExpandDims(inside[0], 2))
	rows = b.Transpose(b.Reshape(rows, regions, bins, s[0]*s[2]), 1, 2, 0) // [bins, batch*height, regions]

	data := b.Transpose(b.Reshape(x, s[0], channels, bins, bins, s[2], s[3]), 2, 3, 1, 0, 4, 5)
	sums := b.Matmul(b.Reshape(data, bins, bins, channels*s[0]*s[2], s[3]), b.ExpandDims(b.Transpose(inside[1], 1, 2, 0), 0))
	sums = b.Do(ops.Multiply, b.Reshape(sums, bins, bins, channels, s[0]*s[2], regions), b.ExpandDims(rows, 1, 2))
	sums = b.Transpose(b.Reduce(ops.Sum, sums, false, 3), 3, 2, 0, 1)
	area := b.Do(ops.Multiply, b.ExpandDims(count[0], 2), b.ExpandDims(count[1], 1))
	return b.Do(ops.Divide, sums, b.ExpandDims(b.Do(ops.Maximum, area, Like(area, 1)), 1))
}

// RoundedRegions are regions [n, 5] with batch index and corners, which are places of pixels, rounded and scaled to elements of a map: those of R-FCN.
func (b *Builder) RoundedRegions(rois *graph.Value, scale float64, bins int) RegionPool {
	if rois.Type.Rank() != 2 || rois.Type.Shape[1] != 5 {
		Fail("regions %s", rois.Type)
	}
	at := func(k int, by float64) *graph.Value {
		v := b.At(rois, 1, k)
		return b.Scaled(b.Do(ops.Add, b.Do(ops.Floor, b.Do(ops.Add, v, Like(v, 0.5))), Like(v, by)), scale)
	}
	p := RegionPool{Bins: bins, Batch: b.Cast(b.At(rois, 1, 0), types.I64)}
	for k := range 2 {
		p.Start[k] = at(2-k, 0)
		p.Size[k] = b.Do(ops.Maximum, b.Do(ops.Subtract, at(4-k, 1), p.Start[k]), Like(rois, 0.1))
	}
	return p
}
