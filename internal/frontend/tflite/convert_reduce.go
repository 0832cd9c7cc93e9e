package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var reduceRows = []row{
	{"SUM", real(shared(tfops.Reduce(ops.Sum)))}, {"REDUCE_PROD", real(shared(tfops.Reduce(ops.Prod)))}, {"MEAN", one(mean)},
	{"REDUCE_MAX", moved(shared(tfops.Reduce(ops.Max)))}, {"REDUCE_MIN", moved(shared(tfops.Reduce(ops.Min)))},
	{"REDUCE_ANY", shared(tfops.Reduce(ops.Any))}, {"REDUCE_ALL", shared(tfops.Reduce(ops.AllOf))}, {"CUMSUM", real(shared(tfops.Cumulative(ops.CumSum)))},
}

func mean(c *call) *graph.Value {
	if from, to := c.from(0), c.to(0); from.quantized() && to.quantized() {
		axes, keep := tfops.Reduced(c.Call)
		return c.quantizedMean(c.X(0), from, to, axes, keep)
	}
	return tfops.Reduce(ops.Mean)(c.Call)
}

var resizeRows = []row{{"RESIZE_BILINEAR", one(resizeBilinear)}, {"RESIZE_NEAREST_NEIGHBOR", moved(shared(tfops.ResizeNearest))}}

func resizeBilinear(c *call) *graph.Value {
	c.Ignore("new_height", "new_width")
	sizes, mode := tfops.Sizes(c.Call, 1), tfops.Coordinates(c.Call)
	if from := c.from(0); from.quantized() && from.elem.bytes() == 1 {
		return c.quantizedBilinear(c.X(0), sizes, mode == "align_corners", mode == "half_pixel")
	}
	return real(one(func(c *call) *graph.Value {
		return c.last(c.Resize(c.first(c.X(0)), compose.ResizeSpec{Axes: []int{2, 3}, Sizes: sizes, Attrs: ops.ResizeAttrs{Method: "linear", CoordinateTransformationMode: mode}}))
	}))(c)[0]
}
