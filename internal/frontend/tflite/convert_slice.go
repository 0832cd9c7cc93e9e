package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var sliceRows = []row{
	{"SLICE", moved(shared(tfops.Slice))}, {"STRIDED_SLICE", moved(shared(tfops.StridedSlice))}, {"DYNAMIC_UPDATE_SLICE", moved(one(dynamicUpdateSlice))},
}

// dynamicUpdateSlice puts operand 1 into operand 0 at a place within it, which need not be known.
func dynamicUpdateSlice(c *call) *graph.Value {
	x, update, at := c.X(0), c.X(1), c.X(2)
	rank := x.Type.Rank()
	if update.Type.Rank() != rank || at.Type.Elements() != rank {
		compose.Fail("update %s of %s at %s", update.Type, x.Type, at.Type)
	}
	inside := compose.Number(boolType, 1)
	source := update
	for k := range rank {
		n, size := x.Type.Shape[k], update.Type.Shape[k]
		if size > n {
			compose.Fail("update %s of %s", update.Type, x.Type)
		}
		start := c.Apply(ops.Clip, ops.ClipAttrs{Max: float64(n - size), HasMin: true, HasMax: true}, c.At(c.Reshape(at, rank), 0, k))
		place := c.Do(ops.Subtract, c.Cast(c.Arange(n), start.Type.DType), start)
		last := compose.Like(place, float64(size-1))
		within := c.Do(ops.LogicalAnd, c.Do(ops.GreaterEqual, place, compose.Like(place, 0)), c.Do(ops.LessEqual, place, last))
		source = c.Apply(ops.Take, ops.TakeAttrs{Axis: k}, source, c.Apply(ops.Clip, ops.ClipAttrs{Max: float64(size - 1), HasMin: true, HasMax: true}, place))
		lined := make([]int, rank)
		for i := range lined {
			lined[i] = 1
		}
		lined[k] = n
		inside = c.Do(ops.LogicalAnd, inside, c.Reshape(within, lined...))
	}
	return c.Do(ops.Where, inside, source, x)
}
