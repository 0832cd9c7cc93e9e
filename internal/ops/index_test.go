package ops

import (
	"math"
	"testing"

	"lathe/internal/tensor"
)

// TestIndicesOutside pins what an index outside the axis means: reads take the nearest element, writes are dropped.
func TestIndicesOutside(t *testing.T) {
	x, at := row[int32](10, 20, 30), row[int64](-1, -3, -9, 9, math.MaxInt64, math.MinInt64)
	want[int32](t, eval(t, Take, TakeAttrs{0}, x, at)[0], 30, 10, 10, 30, 30, 10)
	want[int32](t, eval(t, Gather, GatherAttrs{0}, x, at)[0], 30, 10, 10, 30, 30, 10)
	ups := row[int32](1, 2, 3, 4, 5, 6)
	want[int32](t, eval(t, ScatterElements, ScatterElementsAttrs{0, "none"}, x, at, ups)[0], 2, 20, 1)
	want[int32](t, eval(t, ScatterND, ScatterNDAttrs{"add"}, x, at.Reshape(6, 1), ups)[0], 12, 20, 31)
}

// TestScatterOrder pins that the last of several updates of one element stays.
func TestScatterOrder(t *testing.T) {
	got := eval(t, ScatterElements, ScatterElementsAttrs{0, "none"}, row[int8](0, 0), row[int64](1, 1, 1), row[int8](5, 7, 6))
	want[int8](t, got[0], 0, 6)
}

func TestTopKTiesAndNaN(t *testing.T) {
	x := row(2, math.NaN(), 3, 2, 3)
	got := eval(t, TopK, TopKAttrs{4, 0, true}, x)
	want[int64](t, got[1], 1, 2, 4, 0)
	got = eval(t, TopK, TopKAttrs{5, 0, false}, x)
	want[int64](t, got[1], 0, 3, 2, 4, 1)
	want[int64](t, eval(t, TopK, TopKAttrs{1, 0, true}, row[uint64](1, math.MaxUint64, 2))[1], 1)
}

// TestRoiAlignSurvivesAnyRegion checks that regions that are no numbers or as large as the world give zeros in a moment.
func TestRoiAlignSurvivesAnyRegion(t *testing.T) {
	x := tensor.Of([]int{1, 1, 2, 2}, []float32{1, 2, 3, 4})
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	rois := tensor.Of([]int{3, 4}, []float32{nan, 0, 1, 1, 0, 0, inf, inf, 1e30, 1e30, 2e30, 2e30})
	a := RoiAlignAttrs{PooledSize: []int{1, 1}, SpatialScale: 1, Mode: "avg", HalfPixel: true}
	want[float32](t, eval(t, RoiAlign, a, x, rois, row[int64](0, 7, -9))[0], 0, 0, 0)
}
