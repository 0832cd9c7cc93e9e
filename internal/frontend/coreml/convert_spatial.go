package coreml

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// Fields of padding, shared by layers.
const (
	border   = "border:10*{start:1 end:2}"
	paddings = "valid:50{amounts:1{" + border + "}} same:51{mode:1}"
)

var spatialRows = []row{
	{100, "convolution", "outputChannels:1 kernelChannels:2 nGroups:10 kernelSize:20s stride:30s dilationFactor:40s " + paddings + " isDeconvolution:60 hasBias:70 weights:90w bias:91w outputShape:100s", one(convolution)},
	{120, "pooling", "type:1 kernelSize:10s stride:20s valid:30{amounts:1{" + border + "}} same:31{mode:1} includeLastPixel:32{amounts:10s} excludePadding:50 global:60", one(pooling)},
	{190, "crop", "amounts:1{" + border + "} offset:5s", one(crop)},
	{200, "padding", "constant:1{value:1f} reflection:2{} replication:3{} amounts:10{" + border + "}", one(padding)},
	{210, "upsample", "scalingFactor:1s mode:5", one(upsample)}, {211, "resizeBilinear", "targetSize:1s mode:2{method:1}", one(resizeBilinear)},
	{345, "reorganizeData", "mode:1 blockSize:2", one(reorganizeData)},
}

// amounts are the edges before and behind height and width, in the form of compose.Window.
func (c *call) amounts(name string) []int {
	switch n := c.Int(name+".border", 0); {
	case n == 0:
		return make([]int, 4)
	case n != 2:
		compose.Fail("%d borders instead of two", n)
	}
	edge := func(k string) int { return c.Int(name+".border."+k, 0) }
	return []int{edge("0.start"), edge("1.start"), edge("0.end"), edge("1.end")}
}

// pads reads the padding of a window: amounts, or as much as makes one output for each stride.
func (c *call) pads(w *compose.Window) {
	switch {
	case c.Has("same"):
		c.Ignore("same")
		w.Padding = w.Same(c.Int("same.mode", 0) == 0)
	default:
		c.Ignore("valid", "valid.amounts")
		w.Padding = c.amounts("valid.amounts")
	}
}

// pair is a list of two numbers.
func (c *call) pair(name string, absent int) []int {
	v := c.IntsOr(name, 2, absent)
	if slices.Min(v) < 1 {
		compose.Fail("%s %v", name, v)
	}
	return v
}

func convolution(c *call) *graph.Value {
	x, back := c.images(c.X(0))
	groups, out, in := max(1, c.Int("nGroups", 1)), c.Int("outputChannels", 0), c.Int("kernelChannels", 0)
	kernel := c.pair("kernelSize", 3)
	w := compose.Window{In: x.Type.Shape[2:], Kernel: kernel, Strides: c.pair("stride", 1), Dilation: c.pair("dilationFactor", 1)}
	var bias *graph.Value
	if c.Bool("hasBias", false) {
		bias = c.weight("bias", out)
	}
	if c.Bool("isDeconvolution", false) {
		w.Dilation = []int{1, 1}
		return back(c.deconvolution(x, w, groups, in, out, bias))
	}
	c.Ignore("outputShape")
	c.pads(&w)
	return back(c.Conv(w, groups, x, c.weight("weights", out, in, kernel[0], kernel[1]), bias))
}

// deconvolution has its padding from the shape of its result, where that is given; padding of the kind same makes a result of stride times the data.
func (c *call) deconvolution(x *graph.Value, w compose.Window, groups, in, out int, bias *graph.Value) *graph.Value {
	if out%groups != 0 {
		compose.Fail("%d channels in %d groups", out, groups)
	}
	if q := c.weights["weights"]; q != nil && len(q.scale) > 1 {
		compose.Fail("weights with a scale for each channel are not supported here")
	}
	kernel := c.weight("weights", in, out/groups, w.Kernel[0], w.Kernel[1])
	extra := []int{0, 0}
	size := c.Ints("outputShape")
	upper := c.Int("same.mode", 0) == 0
	switch {
	case len(size) == 2:
		c.Ignore("valid", "valid.amounts", "same")
		c.amounts("valid.amounts")
		w.Padding, extra = w.Transposed(size, extra, upper)
	case c.Has("same"):
		c.Ignore("same")
		w.Padding, extra = w.Transposed([]int{w.In[0] * w.Strides[0], w.In[1] * w.Strides[1]}, extra, upper)
	default:
		c.pads(&w)
	}
	return c.ConvTranspose(w, extra, groups, x, kernel, bias)
}

// pooling with includeLastPixel rounds the number of windows up, without one that begins beyond the data and the padding before it.
func pooling(c *call) *graph.Value {
	x, back := c.images(c.X(0))
	kind := c.Int("type", 0)
	if kind < 0 || kind > 2 {
		compose.Fail("type %d", kind)
	}
	include := !c.Bool("excludePadding", false)
	if c.Bool("global", false) {
		c.Ignore(c.Node.Attrs.Names()...)
		if kind == 2 {
			return back(c.LpNorm(x, 2, true, 2, 3))
		}
		return back(c.Reduce([]*op.Def{ops.Max, ops.Mean}[kind], x, true, 2, 3))
	}
	w := compose.Window{In: x.Type.Shape[2:], Kernel: c.pair("kernelSize", 3), Strides: c.pair("stride", 1), Dilation: []int{1, 1}}
	ceil := c.Has("includeLastPixel")
	if ceil {
		c.Ignore("includeLastPixel")
		pad := c.IntsOr("includeLastPixel.amounts", 2, 0)
		w.Padding = slices.Concat(pad, pad)
		for k, in := range w.In {
			if s := w.Strides[k]; pad[0]+pad[1] == 0 && (in-w.Kernel[k]+s-1)/s*s >= in {
				compose.Fail("includeLastPixel makes a window that lies beyond the data, which is not supported")
			}
		}
	} else {
		c.pads(&w)
	}
	switch kind {
	case 0:
		return back(c.MaxPool(x, w, ceil))
	case 1:
		return back(c.AvgPool(x, w, ceil, include))
	}
	return back(c.Apply(ops.LpPool, ops.LpPoolAttrs{PoolSize: w.Kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, CeilMode: ceil, P: 2}, x))
}

// crop takes away edges, or leaves the extents of a second operand from an offset on.
func crop(c *call) *graph.Value {
	x := c.X(0)
	c.WantRank(0, 3)
	c.Ignore("amounts")
	edges, offset := c.amounts("amounts"), c.Ints("offset")
	for k := range 2 {
		axis := x.Type.Rank() - 2 + k
		n := x.Type.Shape[axis]
		from, to := edges[k], n-edges[2+k]
		if c.data > 1 {
			if len(offset) != 2 || c.Rank(1) != x.Type.Rank() {
				compose.Fail("of %s to %s at %v", x.Type, c.X(1).Type, offset)
			}
			from = offset[k]
			to = from + c.Shape(1)[axis]
		}
		if from < 0 || to > n || from > to {
			compose.Fail("elements %d to %d of %d", from, to, n)
		}
		x = c.Slice(x, axis, from, to)
	}
	return x
}

func padding(c *call) *graph.Value {
	x := c.X(0)
	c.WantRank(0, 3)
	r := x.Type.Rank()
	c.Ignore("amounts", "constant", "reflection", "replication")
	edges := c.amounts("amounts")
	a := ops.PadAttrs{Mode: "constant", Value: c.Float("constant.value", 0), PadBefore: make([]int, r), PadAfter: make([]int, r)}
	if c.Has("reflection") {
		a.Mode = "reflect"
	} else if c.Has("replication") {
		a.Mode = "edge"
	}
	for k := range 2 {
		a.PadBefore[r-2+k], a.PadAfter[r-2+k] = edges[k], edges[2+k]
	}
	return c.Apply(ops.Pad, a, x)
}

func upsample(c *call) *graph.Value {
	x := c.X(0)
	c.WantRank(0, 3)
	by := c.pair("scalingFactor", 1)
	if c.Int("mode", 0) == 1 {
		s := x.Type.Shape[x.Type.Rank()-2:]
		return c.bilinear(x, []int{s[0] * by[0], s[1] * by[1]}, "asymmetric")
	}
	for k, n := range by {
		if n > 1 {
			x = c.Apply(ops.Repeat, ops.RepeatAttrs{Axis: x.Type.Rank() - 2 + k, Repeats: n}, x)
		}
	}
	return x
}

func (c *call) bilinear(x *graph.Value, size []int, mode string) *graph.Value {
	return c.Resize(x, compose.ResizeSpec{Axes: compose.LastAxes(x, x.Type.Rank()-2), Sizes: size, Attrs: ops.ResizeAttrs{Method: "linear", CoordinateTransformationMode: mode}})
}

// resizeBilinear samples between the first and the last element, or as upsample does.
func resizeBilinear(c *call) *graph.Value {
	x, size := c.X(0), c.pair("targetSize", 1)
	c.WantRank(0, 3)
	c.Ignore("mode")
	switch method := c.Int("mode.method", 0); {
	case method == 0, method == 1 && slices.Min(size) > 1:
		return c.bilinear(x, size, "align_corners")
	case method == 2:
		return c.bilinear(x, size, "asymmetric")
	default:
		compose.Fail("sampling method %d to %v is not supported", method, size)
	}
	return nil
}

func reorganizeData(c *call) *graph.Value {
	x, back := c.images(c.X(0))
	a := ops.DepthSpaceAttrs{BlockSize: c.Int("blockSize", 0), Mode: "DCR"}
	switch mode := c.Int("mode", 0); mode {
	case 0:
		return back(c.Apply(ops.SpaceToDepth, a, x))
	case 2: // PIXEL_SHUFFLE
		a.Mode = "CRD"
		fallthrough
	case 1:
		return back(c.Apply(ops.DepthToSpace, a, x))
	default:
		compose.Fail("mode %d is not supported", mode)
	}
	return nil
}
