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
	{"max_pool2d_with_index", one(pool)}, {"dropout", one(dropout)}, {"unfold", one(unfold)},
}

// byRank picks the operator for a number of spatial axes.
func byRank(n int, defs ...*op.Def) *op.Def {
	if n < 1 || n > len(defs) || defs[n-1] == nil {
		compose.Fail("%d spatial axes are not supported", n)
	}
	return defs[n-1]
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
	in := values{x, c.operand("Filter")}
	if bias := c.optional("Bias"); bias != nil {
		in = append(in, c.Reshape(bias, bias.Type.Elements()))
	}
	groups := c.Int("groups", 1)
	y := c.Apply(byRank(len(w.In), ops.Conv1d, ops.Conv2d, ops.Conv3d), ops.ConvAttrs{Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, Groups: groups}, in...)
	if rest := c.optional("ResidualData"); rest != nil {
		y = c.Do(ops.Add, y, rest)
	}
	return back(y)
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
	y := c.Apply(byRank(n, ops.Conv1dTranspose, ops.Conv2dTranspose, ops.Conv3dTranspose),
		ops.ConvTransposeAttrs{Strides: w.Strides, Padding: w.Padding, OutputPadding: extra, Dilation: w.Dilation, Groups: c.Int("groups", 1)}, x, filter)
	if bias := c.optional("Bias"); bias != nil {
		y = c.Do(ops.Add, y, c.along(c.Reshape(bias, bias.Type.Elements()), y, 1))
	}
	return back(y)
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
	global, adaptive := c.Bool("global_pooling", false), c.Bool("adaptive", false)
	if adaptive && len(kernel) == n && !slices.ContainsFunc(kernel, func(k int) bool { return k != 1 }) {
		global = true
	}
	if global {
		c.Ignore("strides", "paddings", "padding_algorithm", "ceil_mode", "exclusive")
		return back(c.Reduce(map[string]*op.Def{"max": ops.Max, "avg": ops.Mean}[kind], x, true, compose.LastAxes(x, 2)...))
	}
	if len(kernel) != n {
		compose.Fail("ksize %v for %d spatial axes", kernel, n)
	}
	if adaptive {
		c.Ignore("strides", "paddings", "padding_algorithm", "ceil_mode", "exclusive")
		return back(c.adaptivePool(x, kind, kernel))
	}
	w := compose.Window{In: x.Type.Shape[2:], Kernel: kernel, Strides: c.IntsOr("strides", n, 1), Dilation: slices.Repeat([]int{1}, n)}
	c.padding(&w)
	ceil := c.Bool("ceil_mode", false)
	for k, in := range w.In {
		s := w.Strides[k]
		if s < 1 || ceil && (in+w.Padding[k]+w.Padding[n+k]-kernel[k]+s-1)/s*s >= in+w.Padding[k] {
			compose.Fail("ceil_mode makes a window that lies beyond the input, which is not supported")
		}
	}
	if kind == "max" {
		c.Ignore("exclusive")
		return back(c.Apply(byRank(n, ops.MaxPool1d, ops.MaxPool2d, ops.MaxPool3d), ops.PoolAttrs{PoolSize: kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, CeilMode: ceil}, x))
	}
	return back(c.Apply(byRank(n, ops.AvgPool1d, ops.AvgPool2d, ops.AvgPool3d), ops.AvgPoolAttrs{
		PoolSize: kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, CeilMode: ceil, CountIncludePad: !c.Bool("exclusive", true)}, x))
}

// adaptivePool gives a result of given extents, axis by axis: window i is from floor(i*in/out) to ceil((i+1)*in/out).
func (c *call) adaptivePool(x *graph.Value, kind string, out []int) *graph.Value {
	d := map[string]*op.Def{"max": ops.Max, "avg": ops.Mean}[kind]
	for k, n := range out {
		axis, in := 2+k, x.Type.Shape[2+k]
		switch {
		case n < 1 || n > maxWindows:
			compose.Fail("a result of %v", out)
		case n == in:
		case in%n == 0:
			s := x.Type.Shape
			x = c.Reduce(d, c.Reshape(x, slices.Concat(s[:axis], []int{n, in / n}, s[axis+1:])...), false, axis+1)
		default:
			parts := make(values, n)
			for i := range parts {
				parts[i] = c.Reduce(d, c.Slice(x, axis, i*in/n, ((i+1)*in+n-1)/n), true, axis)
			}
			x = c.Concat(axis, parts...)
		}
	}
	return x
}

// maxWindows bounds the windows of an axis that are computed one by one.
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
	y := c.Apply(ops.Conv2d, ops.ConvAttrs{Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, Groups: s[1]}, x, kernel)
	return c.Reshape(y, s[0], s[1]*area, types.Count(y.Type.Shape[2:]))
}
