package paddle

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var nnRows = []row{
	{"conv2d", one(conv)}, {"depthwise_conv2d", one(conv)}, {"conv3d", one(conv)}, {"conv2d_transpose", one(convTranspose)},
	{"depthwise_conv2d_transpose", one(convTranspose)}, {"conv3d_transpose", one(convTranspose)}, {"pool2d", one(pool)}, {"pool3d", one(pool)},
	{"max_pool2d_with_index", one(pool)}, {"dropout", one(dropout)}, {"deformable_conv", one(deformable)}, {"deformable_conv_v1", one(deformable)}, {"unfold", one(unfold)},
}

// channelsFirst brings data to channels first, and gives what brings a result back.
func (c *call) channelsFirst(x *graph.Value, attr string) (*graph.Value, func(*graph.Value) *graph.Value) {
	c.WantRankOf(x, 2)
	switch c.OneOf(attr, "NCHW", "NCHW", "NCDHW", "NCW", "NCL", "NC", "AnyLayout", "ANYLAYOUT", "Undefined(AnyLayout)", "NHWC", "NDHWC", "NWC", "NLC") {
	case "NHWC", "NDHWC", "NWC", "NLC":
	default:
		return x, func(y *graph.Value) *graph.Value { return y }
	}
	r := x.Type.Rank()
	to, from := []int{0, r - 1}, []int{0}
	for k := 1; k < r-1; k++ {
		to, from = append(to, k), append(from, k+1)
	}
	return c.Transpose(x, to...), func(y *graph.Value) *graph.Value { return c.Transpose(y, append(from, 1)...) }
}

// WantRankOf stops when x has fewer axes than least.
func (c *call) WantRankOf(x *graph.Value, least int) {
	if x.Type.Rank() < least {
		compose.Fail("of %s: %d axes or more are needed", x.Type, least)
	}
}

// padding reads paddings of n spatial axes: one for each axis, two for each, or those of all axes; the algorithm may override them.
func (c *call) padding(w *compose.Window) {
	n := len(w.In)
	pads := c.Ints("paddings")
	switch c.OneOf("padding_algorithm", "EXPLICIT", "EXPLICIT", "SAME", "VALID") {
	case "SAME":
		w.Dilation = slices.Repeat([]int{1}, n)
		w.Padding = w.Same(true)
		return
	case "VALID":
		pads = make([]int, n)
	}
	switch len(pads) {
	case 0:
		w.Padding = make([]int, 2*n)
	case n:
		w.Padding = slices.Concat(pads, pads)
	case 2 * n, 2*n + 4:
		pads = pads[len(pads)-2*n:]
		w.Padding = make([]int, 2*n)
		for k := range n {
			w.Padding[k], w.Padding[n+k] = pads[2*k], pads[2*k+1]
		}
	default:
		compose.Fail("paddings %v for %d spatial axes", pads, n)
	}
}

// window reads a convolution over data with channels first.
func (c *call) window(x, filter *graph.Value) compose.Window {
	c.WantRankOf(x, 3)
	n := x.Type.Rank() - 2
	if filter.Type.Rank() != n+2 {
		compose.Fail("data %s and filter %s differ in rank", x.Type, filter.Type)
	}
	w := compose.Window{In: x.Type.Shape[2:], Kernel: filter.Type.Shape[2:], Strides: c.IntsOr("strides", n, 1), Dilation: c.IntsOr("dilations", n, 1)}
	c.padding(&w)
	return w
}

func conv(c *call) *graph.Value {
	x, back := c.channelsFirst(c.operand("Input"), "data_format")
	w := c.window(x, c.operand("Filter"))
	y := c.Conv(w, c.Int("groups", 1), x, c.operand("Filter"), c.bias())
	if rest := c.optional("ResidualData"); rest != nil {
		y = c.Do(ops.Add, y, rest)
	}
	return back(y)
}

func deformable(c *call) *graph.Value {
	c.Ignore("deformable_groups", "im2col_step") // as many as the offsets have channels for
	x, filter := c.operand("Input"), c.operand("Filter")
	d := compose.Deformable{Window: c.window(x, filter), Groups: c.Int("groups", 1), Offset: c.operand("Offset"), Mask: c.optional("Mask")}
	return c.DeformableConv(d, x, filter, nil)
}

// convTranspose has its result's extents from output_size, where that is given.
func convTranspose(c *call) *graph.Value {
	x, back := c.channelsFirst(c.operand("Input"), "data_format")
	filter := c.operand("Filter")
	w := c.window(x, filter)
	n := len(w.In)
	extra := c.IntsOr("output_padding", n, 0)
	if size := c.numbers("output_size", "OutputSizeTensor", "OutputSize"); len(size) == n {
		for k, out := range size {
			extra[k] = out - ((w.In[k]-1)*w.Strides[k] - w.Padding[k] - w.Padding[n+k] + (w.Kernel[k]-1)*w.Dilation[k] + 1)
		}
	}
	return back(c.ConvTranspose(w, extra, c.Int("groups", 1), x, filter, c.bias()))
}

// bias is a vector, or nil.
func (c *call) bias() *graph.Value {
	if bias := c.optional("Bias"); bias != nil {
		return c.Reshape(bias, bias.Type.Elements())
	}
	return nil
}

// pool is maximum or average; adaptive pooling has a result of given extents.
func pool(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), "data_format")
	c.WantRankOf(x, 3)
	n := x.Type.Rank() - 2
	kind := "max"
	if c.Node.Op != "max_pool2d_with_index" {
		kind = c.OneOf("pooling_type", "max", "max", "avg")
	}
	kernel := c.numbers("ksize", "KSize")
	if len(kernel) == 1 {
		kernel = slices.Repeat(kernel, n)
	}
	d := map[string]*op.Def{"max": ops.Max, "avg": ops.Mean}[kind]
	global, adaptive := c.Bool("global_pooling", false), c.Bool("adaptive", false)
	if adaptive && len(kernel) == n && !slices.ContainsFunc(kernel, func(k int) bool { return k != 1 }) {
		global = true
	}
	if global {
		c.Ignore("strides", "paddings", "padding_algorithm", "ceil_mode", "exclusive")
		return back(c.Reduce(d, x, true, compose.LastAxes(x, 2)...))
	}
	if len(kernel) != n {
		compose.Fail("ksize %v for %d spatial axes", kernel, n)
	}
	if adaptive {
		c.Ignore("strides", "paddings", "padding_algorithm", "ceil_mode", "exclusive")
		for k, out := range kernel {
			x = c.AdaptivePool(d, x, 2+k, out)
		}
		return back(x)
	}
	w := compose.Window{In: x.Type.Shape[2:], Kernel: kernel, Strides: c.IntsOr("strides", n, 1), Dilation: slices.Repeat([]int{1}, n)}
	c.padding(&w)
	ceil := c.Bool("ceil_mode", false)
	if ceil {
		w.CheckCeil("ceil_mode")
	}
	if kind == "max" {
		c.Ignore("exclusive")
		return back(c.MaxPool(x, w, ceil))
	}
	return back(c.AvgPool(x, w, ceil, !c.Bool("exclusive", true)))
}

// maxWindows bounds the elements of a window, each of which becomes a channel.
const maxWindows = 1 << 10

// dropout scales where training did not.
func dropout(c *call) *graph.Value {
	p := c.real("dropout_prob", 0.5, "P")
	c.Ignore("axis")
	if c.OneOf("dropout_implementation", "downgrade_in_infer", "downgrade_in_infer", "upscale_in_train") == "upscale_in_train" {
		return c.x()
	}
	return c.Scaled(c.x(), 1-p)
}

// unfold takes windows as columns: a convolution by which each element goes to a channel of its own.
func unfold(c *call) *graph.Value {
	x := c.x()
	c.WantRankOf(x, 4)
	s := x.Type.Shape
	w := compose.Window{In: s[2:], Kernel: c.IntsOr("kernel_sizes", 2, 1), Strides: c.IntsOr("strides", 2, 1), Dilation: c.IntsOr("dilations", 2, 1)}
	pads := c.Ints("paddings")
	switch len(pads) {
	case 4:
		w.Padding = pads // above, left, below, right
	case 2:
		w.Padding = slices.Concat(pads, pads)
	default:
		compose.Fail("paddings %v", pads)
	}
	area := types.Count(w.Kernel)
	if area < 1 || area > maxWindows {
		compose.Fail("a kernel of %v", w.Kernel)
	}
	one := c.Zeros(x.Type.DType, area, 1, w.Kernel[0], w.Kernel[1])
	for i := range area {
		one.SetFloat(i*area+i, 1)
	}
	kernel := c.Apply(ops.Tile, ops.TileAttrs{Reps: []int{s[1], 1, 1, 1}}, compose.Const(one))
	y := c.Conv(w, s[1], x, kernel)
	return c.Reshape(y, s[0], s[1]*area, types.Count(y.Type.Shape[2:]))
}
