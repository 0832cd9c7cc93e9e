package caffe

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

type values = []*graph.Value

// A call is one layer being converted. Its operands are bottoms and, behind them, blobs.
type call struct {
	*frontend.Call
	attributes
}

type row struct {
	kind    string
	convert func(c *call) values
}

func one(f func(c *call) *graph.Value) func(c *call) values {
	return func(c *call) values { return values{f(c)} }
}

func apply(d *op.Def) func(c *call) values {
	return func(c *call) values { return values{c.Do(d, c.X(0))} }
}

// table lists every layer that is converted.
var table = newTable(slices.Concat(reshapingRows, detectionRows, regionRows, recurrentRows, []row{
	{"Convolution", one(conv)}, {"ConvolutionDepthwise", one(conv)}, {"DepthwiseConvolution", one(conv)}, {"Deconvolution", one(deconvolution)}, {"Pooling", one(pool)}, {"InnerProduct", one(innerProduct)},
	{"ReLU", one(relu)}, {"PReLU", one(prelu)}, {"ELU", one(elu)}, {"Sigmoid", apply(ops.Sigmoid)}, {"TanH", apply(ops.Tanh)}, {"AbsVal", apply(ops.Abs)}, {"BNLL", apply(ops.Softplus)}, {"ReLU6", one(relu6)},
	{"Power", one(power)}, {"LRN", one(lrn)}, {"BatchNorm", one(batchNorm)}, {"Scale", one(scale)}, {"Bias", one(bias)}, {"Softmax", one(softmax)}, {"Eltwise", one(eltwise)},
	{"Concat", one(concat)}, {"Slice", slice}, {"Split", split}, {"Flatten", one(flatten)}, {"Reshape", one(reshape)}, {"Permute", one(permute)}, {"Crop", one(crop)}, {"Dropout", one(dropout)},
}))

func newTable(rows []row) *frontend.Table {
	list := make([]frontend.Row, len(rows))
	for i, r := range rows {
		list[i] = frontend.Row{Op: r.kind, Convert: func(c *frontend.Call) []*graph.Value { return r.convert(&call{c, c.Node.Attrs.(attributes)}) }}
	}
	return frontend.NewTable(list, nil, "")
}

// Rows lists the supported layers by name.
func Rows() []frontend.Supported { return table.Rows() }

// blob is weight i, which has to be there and have the elements of a shape, where that is known; where the network has no weights, it is made up.
func (c *call) blob(i int, shape ...int) *graph.Value {
	if c.weights == nil {
		return c.MadeUp(fmt.Sprintf("%s/%d", c.Node.Name, i), shape...)
	}
	if c.data+i >= len(c.In) {
		compose.Fail("the weights have %s for layer %q, number %d is needed: %s", spelling.Count(len(c.In)-c.data, "blob"), c.Node.Name, i, c.weights.another())
	}
	b := c.X(c.data + i)
	if n := types.Count(shape); n > 0 && n != b.Type.Elements() {
		compose.Fail("blob %d of layer %q is %s in the weights, where it needs %v: %s", i, c.Node.Name, b.Type, shape, c.weights.another())
	}
	return b
}

// pair is an attribute of height and width: one number, one for each axis, or one under a name for each.
func (c *call) pair(name, high, wide string, absent int) []int {
	v := c.Ints(name)
	out := []int{absent, absent}
	switch len(v) {
	case 0:
	case 1:
		out = []int{v[0], v[0]}
	case 2:
		out = v
	default:
		compose.Fail("%s %v: two spatial axes are supported", name, v)
	}
	return []int{c.Int(high, out[0]), c.Int(wide, out[1])}
}

// window reads a convolution, whose data have four axes.
func (c *call) window(transposed bool) (compose.Window, *graph.Value, int) {
	c.Ignore("num_output", "axis", "force_nd_im2col")
	if c.Rank(0) != 4 {
		compose.Fail("data %s; four axes are supported", c.X(0).Type)
	}
	kernel := c.pair("kernel_size", "kernel_h", "kernel_w", 0)
	from, to, groups := c.Shape(0)[1], c.Int("num_output", 0), c.Int("group", 1)
	if c.Node.Op != "Convolution" && !transposed {
		groups = from
	}
	if groups < 1 {
		compose.Fail("%d groups", groups)
	}
	if transposed {
		from, to = to, from
	}
	w := c.blob(0, to, from/groups, kernel[0], kernel[1])
	if w.Type.Rank() != 4 {
		compose.Fail("weights %s for data of four axes", w.Type)
	}
	if !slices.Equal(kernel, w.Type.Shape[2:]) {
		compose.Fail("a kernel of %v, but weights %s", kernel, w.Type)
	}
	pad := c.pair("pad", "pad_h", "pad_w", 0)
	dilation := c.Ints("dilation")
	switch len(dilation) {
	case 0:
		dilation = []int{1, 1}
	case 1:
		dilation = []int{dilation[0], dilation[0]}
	}
	return compose.Window{In: c.Shape(0)[2:], Kernel: kernel, Strides: c.pair("stride", "stride_h", "stride_w", 1), Dilation: dilation, Padding: slices.Concat(pad, pad)}, w, groups
}

// operands are data, weights and, unless bias_term is false, the bias, as a vector.
func (c *call) operands(w *graph.Value) values {
	in := values{c.X(0), w}
	if c.Bool("bias_term", true) {
		in = append(in, c.vector(1, c.Int("num_output", 0)))
	}
	return in
}

// vector is blob i, of n elements, with one axis: old files have extents of 1 in front.
func (c *call) vector(i, n int) *graph.Value {
	b := c.blob(i, n)
	return c.Reshape(b, b.Type.Elements())
}

func conv(c *call) *graph.Value {
	w, kernel, groups := c.window(false)
	return c.Conv(w, groups, c.operands(kernel)...)
}

func deconvolution(c *call) *graph.Value {
	w, kernel, groups := c.window(true)
	return c.ConvTranspose(w, []int{0, 0}, groups, c.operands(kernel)...)
}

// pool rounds the number of windows up, without one that begins beyond the input and the padding before it; averages are of the
// window within input and padding.
func pool(c *call) *graph.Value {
	x := c.X(0)
	if x.Type.Rank() != 4 {
		compose.Fail("of %s; four axes are supported", x.Type)
	}
	kind := c.OneOf("pool", "MAX", "MAX", "AVE")
	if c.Bool("global_pooling", false) {
		c.Ignore("kernel_size", "kernel_h", "kernel_w", "stride", "stride_h", "stride_w", "pad", "pad_h", "pad_w", "round_mode", "ceil_mode")
		return c.Reduce(map[string]*op.Def{"MAX": ops.Max, "AVE": ops.Mean}[kind], x, true, 2, 3)
	}
	pad := c.pair("pad", "pad_h", "pad_w", 0)
	ceil := c.OneOf("round_mode", "CEIL", "CEIL", "FLOOR") == "CEIL" && c.Bool("ceil_mode", true)
	w := compose.Window{In: x.Type.Shape[2:], Kernel: c.pair("kernel_size", "kernel_h", "kernel_w", 0), Strides: c.pair("stride", "stride_h", "stride_w", 1),
		Padding: slices.Concat(pad, pad), Dilation: []int{1, 1}}
	if kind == "MAX" {
		return c.MaxPool(x, w, ceil)
	}
	return c.AvgPool(x, w, ceil, true)
}

func innerProduct(c *call) *graph.Value {
	x, outputs := c.X(0), c.Int("num_output", 0)
	axis := frontend.Axis(c.Int("axis", 1), x.Type.Rank())
	rows, columns := types.Count(x.Type.Shape[:axis]), types.Count(x.Type.Shape[axis:])
	w := c.blob(0, outputs, columns)
	if outputs < 1 || columns < 1 || w.Type.Elements() != outputs*columns {
		compose.Fail("weights %s for %d inputs and %d outputs", w.Type, columns, outputs)
	}
	y := c.Reshape(x, rows, columns)
	if c.Bool("transpose", false) {
		y = c.Matmul(y, c.Reshape(w, columns, outputs))
	} else {
		y = c.Do(ops.Dense, y, c.Reshape(w, outputs, columns))
	}
	if c.Bool("bias_term", true) {
		y = c.Do(ops.Add, y, c.vector(1, outputs))
	}
	return c.Reshape(y, append(slices.Clone(x.Type.Shape[:axis]), outputs)...)
}

// along gives a vector or a block of extents the rank at which it broadcasts to x from an axis on.
func (c *call) along(v, x *graph.Value, axis int) *graph.Value {
	shape := slices.Clone(v.Type.Shape)
	for axis+len(shape) < x.Type.Rank() {
		shape = append(shape, 1)
	}
	return c.Reshape(v, shape...)
}
