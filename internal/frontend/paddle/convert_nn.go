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
	{"conv2d", one(conv)}, {"depthwise_conv2d", one(conv)}, {"conv3d", one(conv)}, {"conv2d_transpose", one(convTranspose)}, {"depthwise_conv2d_transpose", one(convTranspose)}, {"conv3d_transpose", one(convTranspose)},
	{"pool2d", one(pool)}, {"pool3d", one(pool)}, {"max_pool2d_with_index", one(pool)}, {"batch_norm", one(batchNorm)}, {"sync_batch_norm", one(batchNorm)}, {"inplace_abn", one(batchNorm)},
	{"layer_norm", one(layerNorm)}, {"group_norm", one(groupNorm)}, {"instance_norm", one(instanceNorm)}, {"lrn", one(lrn)}, {"norm", one(l2Norm)}, {"affine_channel", one(affineChannel)},
	{"mul", one(mul)}, {"matmul", one(matmul)}, {"matmul_v2", one(matmul)}, {"bmm", one(matmul)}, {"mv", one(func(c *call) *graph.Value { return c.NumpyMatmul(c.x(), c.operand("Vec")) })}, {"dot", one(dot)}, {"fc", one(fc)},
	{"einsum", one(func(c *call) *graph.Value { return c.Einsum(c.Str("equation", ""), c.operands("Operands")...) })},
	{"dropout", one(dropout)}, {"unfold", one(unfold)},
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

func batchNorm(c *call) *graph.Value {
	c.Ignore("use_global_stats", "activation", "alpha")
	if f := c.Str("activation", ""); c.Node.Op == "inplace_abn" && f != "" && f != "identity" {
		compose.Fail("with the activation %s is not supported", f)
	}
	x, back := c.channelsFirst(c.x(), "data_layout")
	return back(c.Apply(ops.BatchNorm, ops.BatchNormAttrs{Axis: 1, Epsilon: c.Float("epsilon", 1e-5)}, x, c.operand("Scale"), c.operand("Bias"), c.operand("Mean"), c.operand("Variance")))
}

// layerNorm takes the axes from begin_norm_axis on as one.
func layerNorm(c *call) *graph.Value {
	x := c.x()
	axis := c.axis("begin_norm_axis", 1)
	s := x.Type.Shape
	n := types.Count(s[axis:])
	flat := c.Reshape(x, append(slices.Clone(s[:axis]), n)...)
	in := values{flat}
	for i, slot := range []string{"Scale", "Bias"} {
		v := c.optional(slot)
		if v == nil {
			v = c.Full(x.Type.DType, float64(1-i), n)
		}
		in = append(in, c.Reshape(v, n))
	}
	return c.Reshape(c.Apply(ops.LayerNorm, ops.LayerNormAttrs{Axis: axis, Epsilon: c.Float("epsilon", 1e-5)}, in...), s...)
}

// affine are scale and bias of n channels, 1 and 0 where they are absent.
func (c *call) affine(x *graph.Value) values {
	n := x.Type.Shape[1]
	in := values{x, c.optional("Scale"), c.optional("Bias")}
	for i, v := range in[1:] {
		if v == nil {
			in[1+i] = c.Full(x.Type.DType, float64(1-i), n)
		}
	}
	return in
}

func groupNorm(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), "data_layout")
	return back(c.Apply(ops.GroupNorm, ops.GroupNormAttrs{Groups: c.Int("groups", 1), Epsilon: c.Float("epsilon", 1e-5)}, c.affine(x)...))
}

func instanceNorm(c *call) *graph.Value {
	c.WantRankOf(c.x(), 3)
	return c.Apply(ops.InstanceNorm, ops.InstanceNormAttrs{Epsilon: c.Float("epsilon", 1e-5)}, c.affine(c.x())...)
}

// lrn has an alpha that is not divided by the number of channels.
func lrn(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), "data_format")
	n := c.Int("n", 5)
	return back(c.Apply(ops.LRN, ops.LRNAttrs{Size: n, Axis: 1, Alpha: c.Float("alpha", 1e-4) * float64(n), Beta: c.Float("beta", 0.75), Bias: c.Float("k", 2)}, x))
}

// l2Norm is x / sqrt(sum(x^2) + epsilon) along an axis.
func l2Norm(c *call) *graph.Value {
	x := c.x()
	sum := c.SumSquare(x, true, c.axis("axis", -1))
	return c.Do(ops.Divide, x, c.Do(ops.Sqrt, c.Do(ops.Add, sum, compose.Like(x, c.Float("epsilon", 1e-10)))))
}

func affineChannel(c *call) *graph.Value {
	x, back := c.channelsFirst(c.x(), "data_layout")
	return back(c.Do(ops.Add, c.Do(ops.Multiply, x, c.along(c.operand("Scale"), x, 1)), c.along(c.operand("Bias"), x, 1)))
}

// mul multiplies matrices that operands become by joining axes.
func mul(c *call) *graph.Value {
	x, y := c.x(), c.operand("Y")
	m, n := c.Int("x_num_col_dims", 1), c.Int("y_num_col_dims", 1)
	sx, sy := x.Type.Shape, y.Type.Shape
	if m < 1 || m >= len(sx) || n < 1 || n >= len(sy) {
		compose.Fail("%s by %s with %d and %d axes of rows", x.Type, y.Type, m, n)
	}
	if len(sy) != 2 {
		y = c.Reshape(y, types.Count(sy[:n]), types.Count(sy[n:]))
	}
	z := c.Product(c.Reshape(x, types.Count(sx[:m]), types.Count(sx[m:])), y)
	return c.Reshape(z, slices.Concat(sx[:m], sy[n:])...)
}

func matmul(c *call) *graph.Value {
	x, y := c.x(), c.operand("Y")
	turned := func(v *graph.Value, names ...string) *graph.Value {
		for _, name := range names {
			if r := v.Type.Rank(); c.Bool(name, false) && r > 1 {
				axes := append(compose.LastAxes(v, 0)[:r-2], r-1, r-2)
				return c.Transpose(v, axes...)
			}
		}
		return v
	}
	x, y = turned(x, "transpose_X", "trans_x"), turned(y, "transpose_Y", "trans_y")
	return c.Scaled(c.NumpyMatmul(x, y), c.Float("alpha", 1))
}

// dot is the sum of products along the last axis.
func dot(c *call) *graph.Value {
	z := c.Do(ops.Multiply, c.x(), c.operand("Y"))
	c.WantRankOf(z, 1)
	return c.Reduce(ops.Sum, z, z.Type.Rank() == 1, z.Type.Rank()-1)
}

func fc(c *call) *graph.Value {
	x, w := c.operand("Input"), c.operand("W")
	m := c.Int("in_num_col_dims", 1)
	s := x.Type.Shape
	if m < 1 || m >= len(s) || w.Type.Rank() != 2 {
		compose.Fail("%s by %s with %d axes of rows", x.Type, w.Type, m)
	}
	c.Ignore("padding_weights", "ALL_KERNELS_MUST_COMPUTE_RUNTIME_SHAPE")
	y := c.Product(c.Reshape(x, types.Count(s[:m]), types.Count(s[m:])), w)
	if bias := c.optional("Bias"); bias != nil {
		y = c.Do(ops.Add, y, c.Reshape(bias, bias.Type.Elements()))
	}
	if c.OneOf("activation_type", "", "", "relu") == "relu" {
		y = c.Do(ops.Relu, y)
	}
	return c.Reshape(y, append(slices.Clone(s[:m]), w.Type.Shape[1])...)
}

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
