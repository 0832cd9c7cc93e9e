package caffe

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// reshapingRows are layers that rearrange, reduce or look up.
var reshapingRows = []row{
	{"Reduction", one(reduction)}, {"ArgMax", one(argMax)}, {"Tile", one(tile)}, {"Embed", one(embed)}, {"MVN", one(mvn)}, {"Normalize", one(normalize)}, {"Interp", one(interp)}, {"Reorg", one(reorg)},
	{"ShuffleChannel", one(shuffle)}, {"SPP", one(spp)}, {"Upsample", one(upsample)}, {"BatchReindex", one(batchReindex)}, {"Parameter", one(parameter)}, {"Axpy", one(axpy)}, {"ROIPooling", one(roiPooling)},
	{"Exp", one(exponential)}, {"Log", one(logarithm)}, {"Threshold", one(threshold)}, {"Clip", one(clip)}, {"Swish", one(swish)}, {"Mish", apply(ops.Mish)}, {"HardSwish", apply(ops.HardSwish)}, {"Sqrt", apply(ops.Sqrt)}, {"CReLU", one(crelu)},
}

// reduction folds all axes from one on: SUM, ASUM of sizes, SUMSQ of squares, MEAN; times coeff.
func reduction(c *call) *graph.Value {
	x := c.X(0)
	axes := compose.LastAxes(x, frontend.Axis(c.Int("axis", 0), max(1, x.Type.Rank())))
	d := ops.Sum
	switch c.OneOf("operation", "SUM", "SUM", "ASUM", "SUMSQ", "MEAN") {
	case "ASUM":
		x = c.Do(ops.Abs, x)
	case "SUMSQ":
		x = c.Do(ops.Multiply, x, x)
	case "MEAN":
		d = ops.Mean
	}
	return c.Scaled(c.Reduce(d, x, false, axes...), c.Float("coeff", 1))
}

// argMax gives the places of the top_k greatest elements along an axis, or of each picture as one vector, behind which values follow with out_max_val.
func argMax(c *call) *graph.Value {
	x, k, values := c.X(0), c.Int("top_k", 1), c.Bool("out_max_val", false)
	if c.Has("axis") {
		axis := frontend.Axis(c.Int("axis", 0), x.Type.Rank())
		out := c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: axis, Largest: true}, x)
		if values {
			return out[0]
		}
		return c.Cast(out[1], x.Type.DType)
	}
	n := x.Type.Shape[0]
	out := c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: 1, Largest: true}, c.Reshape(x, n, types.Count(x.Type.Shape[1:])))
	places := c.Reshape(c.Cast(out[1], x.Type.DType), n, 1, k)
	if !values {
		return places
	}
	return c.Concat(1, places, c.Reshape(out[0], n, 1, k))
}

func tile(c *call) *graph.Value {
	x := c.X(0)
	reps := slices.Repeat([]int{1}, x.Type.Rank())
	reps[frontend.Axis(c.Int("axis", 1), x.Type.Rank())] = c.Int("tiles", 1)
	return c.Apply(ops.Tile, ops.TileAttrs{Reps: reps}, x)
}

func embed(c *call) *graph.Value {
	inputs, outputs := c.Int("input_dim", 1), c.Int("num_output", 1)
	y := c.Apply(ops.Take, ops.TakeAttrs{}, c.Reshape(c.blob(0, inputs, outputs), inputs, outputs), c.Cast(c.X(0), types.I32))
	if c.Bool("bias_term", true) {
		y = c.Do(ops.Add, y, c.Reshape(c.blob(1, outputs), outputs))
	}
	return y
}

// mvn subtracts the mean of each map, or of all, and divides by deviation + eps.
func mvn(c *call) *graph.Value {
	c.WantRank(0, 3)
	x := c.X(0)
	axes := compose.LastAxes(x, 2)
	if c.Bool("across_channels", false) {
		axes = compose.LastAxes(x, 1)
	}
	y := c.Do(ops.Subtract, x, c.Reduce(ops.Mean, x, true, axes...))
	epsilon := c.Float("eps", 1e-9)
	if !c.Bool("normalize_variance", true) {
		return y
	}
	deviation := c.Do(ops.Sqrt, c.Reduce(ops.Mean, c.Do(ops.Multiply, y, y), true, axes...))
	return c.Do(ops.Divide, y, c.Do(ops.Add, deviation, compose.Like(x, epsilon)))
}

// normalize divides by the root of the sum of squares + eps, of channels at each place or of all, and multiplies by a blob.
func normalize(c *call) *graph.Value {
	c.WantRank(0, 2)
	x := c.X(0)
	axes := compose.LastAxes(x, 1)
	if !c.Bool("across_spatial", true) {
		axes = []int{1}
	}
	sum := c.Reduce(ops.Sum, c.Do(ops.Multiply, x, x), true, axes...)
	y := c.Do(ops.Divide, x, c.Do(ops.Sqrt, c.Do(ops.Add, sum, compose.Like(x, c.Float("eps", 1e-10)))))
	channels := x.Type.Shape[1]
	if c.Bool("channel_shared", true) {
		channels = 1
	}
	return c.Do(ops.Multiply, y, c.along(c.Reshape(c.blob(0, channels), channels), x, 1))
}

// interp is bilinear with corners that stay, of data that pads of no more than 0 cut.
func interp(c *call) *graph.Value {
	c.WantRank(0, 4)
	x := c.X(0)
	before, after := c.Int("pad_beg", 0), c.Int("pad_end", 0)
	var sizes []int
	for k, name := range []string{"height", "width"} {
		n := x.Type.Shape[2+k]
		if before > 0 || after > 0 || n+before+after < 1 {
			compose.Fail("padding %d and %d of %d", before, after, n)
		}
		x = c.Slice(x, 2+k, -before, n+after)
		n += before + after
		size := n
		if shrink := c.Int("shrink_factor", 1); shrink > 1 {
			size = (size-1)/shrink + 1
		}
		if zoom := c.Int("zoom_factor", 1); zoom > 1 {
			size += (size - 1) * (zoom - 1)
		}
		if given := c.Int(name, 0); given > 0 {
			size = given
		}
		if c.data > 1 {
			size = c.Shape(1)[2+k]
		}
		sizes = append(sizes, size)
	}
	return c.Resize(x, compose.ResizeSpec{Axes: []int{2, 3}, Sizes: sizes, Attrs: ops.ResizeAttrs{Method: "linear", CoordinateTransformationMode: "align_corners"}})
}

// reorg moves blocks into channels, as Darknet's layer of this name does: channel by channel of the result's memory.
func reorg(c *call) *graph.Value {
	c.WantRank(0, 4)
	return c.Reorg(c.X(0), c.Int("stride", 1), c.Bool("reverse", false))
}

func shuffle(c *call) *graph.Value {
	x, groups := c.X(0), c.Int("group", 1)
	s := x.Type.Shape
	if len(s) < 2 || groups < 1 || s[1]%groups != 0 {
		compose.Fail("%d groups of %s", groups, x.Type)
	}
	rest := types.Count(s[2:])
	return c.Reshape(c.Transpose(c.Reshape(x, s[0], groups, s[1]/groups, rest), 0, 2, 1, 3), s...)
}

// spp joins poolings of 1, 4, 16 and so on windows, flat: windows of ceil(in/bins) with padding around (He et al., 2014).
func spp(c *call) *graph.Value {
	c.WantRank(0, 4)
	x, height := c.X(0), c.Int("pyramid_height", 1)
	kind := c.OneOf("pool", "MAX", "MAX", "AVE")
	if height < 1 || height > 8 {
		compose.Fail("%d levels", height)
	}
	var parts values
	for level := range height {
		bins := 1 << level
		w := compose.Window{In: x.Type.Shape[2:], Dilation: []int{1, 1}}
		var pads []int
		for _, in := range w.In {
			size := (in + bins - 1) / bins
			w.Kernel, pads = append(w.Kernel, size), append(pads, (size*bins-in+1)/2)
		}
		w.Strides, w.Padding = w.Kernel, slices.Concat(pads, pads)
		var y *graph.Value
		if kind == "MAX" {
			y = c.MaxPool(x, w, true)
		} else {
			y = c.AvgPool(x, w, true, true)
		}
		parts = append(parts, c.Reshape(y, y.Type.Shape[0], types.Count(y.Type.Shape[1:])))
	}
	return c.Concat(1, parts...)
}

func upsample(c *call) *graph.Value {
	c.WantRank(0, 4)
	if c.data != 1 {
		compose.Fail("with the places of a pooling it is not supported")
	}
	x := c.X(0)
	n := c.pair("scale", "scale_h", "scale_w", 2)
	for k, f := range n {
		if f > 1 {
			x = c.Apply(ops.Repeat, ops.RepeatAttrs{Axis: 2 + k, Repeats: f}, x)
		}
	}
	return x
}

func batchReindex(c *call) *graph.Value {
	return c.Apply(ops.Take, ops.TakeAttrs{}, c.X(0), c.Cast(c.Reshape(c.X(1), c.X(1).Type.Elements()), types.I32))
}

func parameter(c *call) *graph.Value { return c.blob(0, c.Ints("shape")...) }

// axpy is scale*x + y, of a scale for each channel.
func axpy(c *call) *graph.Value {
	a := c.X(0)
	return c.Do(ops.Add, c.Do(ops.Multiply, c.X(1), c.along(c.Reshape(a, a.Type.Shape[:min(2, a.Type.Rank())]...), c.X(1), 0)), c.X(2))
}

func roiPooling(c *call) *graph.Value {
	return c.Apply(ops.RoiPool, ops.RoiPoolAttrs{PooledSize: []int{c.Int("pooled_h", 0), c.Int("pooled_w", 0)}, SpatialScale: c.Float("spatial_scale", 1)}, c.X(0), c.Reshape(c.X(1), c.Shape(1)[0], 5))
}

// exponential is base^(shift + scale*x); a base of -1 is e.
func exponential(c *call) *graph.Value {
	y := c.linear(c.X(0))
	if base := c.Float("base", -1); base > 0 {
		y = c.Scaled(y, math.Log(base))
	}
	return c.Do(ops.Exp, y)
}

func logarithm(c *call) *graph.Value {
	y := c.Do(ops.Log, c.linear(c.X(0)))
	if base := c.Float("base", -1); base > 0 {
		y = c.Scaled(y, 1/math.Log(base))
	}
	return y
}

// linear is shift + scale*x.
func (c *call) linear(x *graph.Value) *graph.Value {
	x = c.Scaled(x, c.Float("scale", 1))
	if shift := c.Float("shift", 0); shift != 0 {
		x = c.Do(ops.Add, x, compose.Like(x, shift))
	}
	return x
}

func threshold(c *call) *graph.Value {
	x := c.X(0)
	return c.Cast(c.Do(ops.Greater, x, compose.Like(x, c.Float("threshold", 0))), x.Type.DType)
}

func clip(c *call) *graph.Value {
	x := c.X(0)
	return c.Do(ops.Minimum, c.Do(ops.Maximum, x, compose.Like(x, c.Float("min", math.Inf(-1)))), compose.Like(x, c.Float("max", math.Inf(1))))
}

func swish(c *call) *graph.Value { return c.Swish(c.X(0), c.Float("beta", 1)) }

// crelu joins x and -x, without what is negative.
func crelu(c *call) *graph.Value {
	axis := frontend.Axis(c.Int("concat_axis", 1), c.Rank(0))
	return c.Do(ops.Relu, c.Concat(axis, c.X(0), c.Apply(ops.Negative, op.None{}, c.X(0))))
}
