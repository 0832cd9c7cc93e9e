package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

var reduceRows = []row{
	{"SUM", real(one(reduction(ops.Sum)))}, {"REDUCE_PROD", real(one(reduction(ops.Prod)))}, {"MEAN", one(mean)},
	{"REDUCE_MAX", moved(one(reduction(ops.Max)))}, {"REDUCE_MIN", moved(one(reduction(ops.Min)))},
	{"REDUCE_ANY", one(reduction(ops.Any))}, {"REDUCE_ALL", one(reduction(ops.AllOf))}, {"CUMSUM", real(one(cumsum))},
}

// reducedAxes are operand 1; none leave the operand as it is.
func (c *call) reducedAxes() []int {
	list := c.KnownInts(1, "the axes")
	seen := map[int]bool{}
	var unique []int
	for _, a := range list {
		if a = frontend.Axis(a, c.Rank(0)); !seen[a] {
			seen[a], unique = true, append(unique, a)
		}
	}
	return frontend.Axes(unique, c.Rank(0))
}

func reduction(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		keep, axes := c.Bool("keep_dims", false), c.reducedAxes()
		if len(axes) == 0 {
			return c.X(0)
		}
		return c.Reduce(d, c.X(0), keep, axes...)
	}
}

func mean(c *call) *graph.Value {
	if from, to := c.from(0), c.to(0); from.quantized() && to.quantized() {
		return c.quantizedMean(c.X(0), from, to, c.reducedAxes(), c.Bool("keep_dims", false))
	}
	return reduction(ops.Mean)(c)
}

func cumsum(c *call) *graph.Value {
	a := ops.CumulativeAttrs{Axis: frontend.Axis(c.KnownInt(1, "the axis"), c.Rank(0)), Exclusive: c.Bool("exclusive", false), Reverse: c.Bool("reverse", false)}
	return c.Apply(ops.CumSum, a, c.X(0))
}

var resizeRows = []row{{"RESIZE_BILINEAR", one(resizeBilinear)}, {"RESIZE_NEAREST_NEIGHBOR", moved(one(resizeNearest))}}

// resized reads height and width, and how coordinates go together.
func (c *call) resized() (sizes []int, align, half bool) {
	if sizes = c.KnownInts(1, "the size"); len(sizes) != 2 || c.Rank(0) != 4 || sizes[0] < 1 || sizes[1] < 1 {
		compose.Fail("size %v of %s", sizes, c.X(0).Type)
	}
	return sizes, c.Bool("align_corners", false), c.Bool("half_pixel_centers", false)
}

func resizeBilinear(c *call) *graph.Value {
	c.Ignore("new_height", "new_width")
	sizes, align, half := c.resized()
	if from := c.from(0); from.quantized() && from.elem.bytes() == 1 {
		return c.quantizedBilinear(c.X(0), sizes, align, half)
	}
	mode := "asymmetric"
	switch {
	case align:
		mode = "align_corners"
	case half:
		mode = "half_pixel"
	}
	return real(one(func(c *call) *graph.Value {
		return c.last(c.Resize(c.first(c.X(0)), compose.ResizeSpec{Axes: []int{2, 3}, Sizes: sizes, Attrs: ops.ResizeAttrs{Method: "linear", CoordinateTransformationMode: mode}}))
	}))(c)[0]
}

// resizeNearest takes element floor(i*scale), floor((i+1/2)*scale), or with align_corners the nearest one, half away from zero.
func resizeNearest(c *call) *graph.Value {
	sizes, align, half := c.resized()
	x := c.X(0)
	for k, out := range sizes {
		in := x.Type.Shape[1+k]
		if in == 0 {
			compose.Fail("no pixels in %s", x.Type)
		}
		scale := float32(in) / float32(out)
		if align && out > 1 {
			scale = float32(in-1) / float32(out-1)
		}
		places := make([]int, out)
		for i := range places {
			at := float32(i) * scale
			if half {
				at = (float32(i) + 0.5) * scale
			}
			if align {
				places[i] = int(roundAway(float64(at)))
			} else {
				places[i] = int(at)
			}
			places[i] = min(places[i], in-1)
		}
		x = c.Apply(ops.Take, ops.TakeAttrs{Axis: 1 + k}, x, compose.Ints(places...))
	}
	return x
}
