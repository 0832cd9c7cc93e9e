package onnx

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tool/spelling"
)

var nnRows = []row{
	{"Conv", "", 1, one(conv)}, {"ConvTranspose", "", 1, one(convTranspose)},
	{"MaxPool", "", 1, maxPool}, {"AveragePool", "", 1, one(averagePool)}, {"LpPool", "", 1, one(lpPool)},
	{"GlobalAveragePool", "", 1, one(globalAveragePool)}, {"GlobalMaxPool", "", 1, one(globalMaxPool)},
	{"GlobalLpPool", "", 1, one(globalLpPool)},
	{"Gemm", "", 1, one(gemm)}, {"MatMul", "", 1, one(matMul)},
	{"Softmax", "", 1, softmaxFlat(ops.Softmax)}, {"Softmax", "", 13, softmax(ops.Softmax)},
	{"LogSoftmax", "", 1, softmaxFlat(ops.LogSoftmax)}, {"LogSoftmax", "", 13, softmax(ops.LogSoftmax)},
	{"Hardmax", "", 1, hardmaxFlat}, {"Hardmax", "", 13, hardmax},
}

// byRank picks the operator for a number of spatial axes.
func byRank(n int, defs ...*op.Def) *op.Def {
	if n < 1 || n > len(defs) {
		compose.Fail("%s: 1 to %d are supported", spelling.Count(n, "spatial axis"), len(defs))
	}
	return defs[n-1]
}

// window reads the attributes of a convolution or pooling over spatial extents in.
func (c *call) window(in, kernel []int) compose.Window {
	n := len(in)
	w := compose.Window{In: in, Kernel: kernel, Strides: c.IntsOr("strides", n, 1), Dilation: c.IntsOr("dilations", n, 1)}
	switch auto := c.OneOf("auto_pad", "NOTSET", "NOTSET", "", "SAME_UPPER", "SAME_LOWER", "VALID"); auto {
	case "SAME_UPPER", "SAME_LOWER":
		c.Ignore("pads")
		w.Padding = w.Same(auto == "SAME_UPPER")
	case "VALID":
		c.Ignore("pads")
		w.Padding = make([]int, 2*n)
	default:
		w.Padding = c.IntsOr("pads", 2*n, 0)
	}
	return w
}

// kernelShape is the attribute, which must agree with the weight.
func (c *call) kernelShape(weight []int) []int {
	if k := c.Ints("kernel_shape"); len(k) > 0 && !slices.Equal(k, weight) {
		compose.Fail("kernel_shape %v, but the weight's kernel is %v", k, weight)
	}
	return weight
}

// sameRank stops when data and weight of a convolution differ in rank or have no spatial axes.
func (c *call) sameRank() {
	c.WantRank(0, 3)
	if c.Rank(0) != c.Rank(1) {
		compose.Fail("data %s and weight %s differ in rank", c.X(0).Type, c.X(1).Type)
	}
}

func conv(c *call) *graph.Value {
	c.sameRank()
	w := c.window(c.Shape(0)[2:], c.kernelShape(c.Shape(1)[2:]))
	d := byRank(len(w.In), ops.Conv1d, ops.Conv2d, ops.Conv3d)
	in := values{c.X(0), c.X(1)}
	if c.Present(2) {
		in = append(in, c.X(2))
	}
	return c.Apply(d, ops.ConvAttrs{Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, Groups: c.Int("group", 1)}, in...)
}

func convTranspose(c *call) *graph.Value {
	c.sameRank()
	in, kernel := c.Shape(0)[2:], c.kernelShape(c.Shape(1)[2:])
	n := len(in)
	w := compose.Window{In: in, Kernel: kernel, Strides: c.IntsOr("strides", n, 1), Dilation: c.IntsOr("dilations", n, 1)}
	extra := c.IntsOr("output_padding", n, 0)
	auto := c.OneOf("auto_pad", "NOTSET", "NOTSET", "", "SAME_UPPER", "SAME_LOWER", "VALID")
	want := c.Ints("output_shape")
	if len(want) == n+2 { // some exporters give batch and channels too
		want = want[2:]
	}
	if want == nil && (auto == "SAME_UPPER" || auto == "SAME_LOWER") {
		for k, s := range w.Strides {
			want = append(want, in[k]*s)
		}
	}
	switch {
	case want != nil:
		c.Ignore("pads")
		if len(want) != n {
			compose.Fail("output_shape %v for %s", want, spelling.Count(n, "spatial axis"))
		}
		w.Padding, extra = w.Transposed(want, extra, auto == "SAME_UPPER")
	case auto == "VALID":
		c.Ignore("pads")
		w.Padding = make([]int, 2*n)
	default:
		w.Padding = c.IntsOr("pads", 2*n, 0)
	}
	d := byRank(n, ops.Conv1dTranspose, ops.Conv2dTranspose, ops.Conv3dTranspose)
	operands := values{c.X(0), c.X(1)}
	if c.Present(2) {
		operands = append(operands, c.X(2))
	}
	return c.Apply(d, ops.ConvTransposeAttrs{
		Strides: w.Strides, Padding: w.Padding, OutputPadding: extra, Dilation: w.Dilation, Groups: c.Int("group", 1)}, operands...)
}

// pool reads the attributes that all poolings share.
func (c *call) pool(x *graph.Value) (w compose.Window, ceil bool) {
	if x.Type.Rank() < 3 {
		compose.Fail("pooling of %s, which has no spatial axes", x.Type)
	}
	kernel := c.Ints("kernel_shape")
	in := x.Type.Shape[2:]
	if len(kernel) != len(in) {
		compose.Fail("kernel_shape %v for %s", kernel, spelling.Count(len(in), "spatial axis"))
	}
	return c.window(in, kernel), c.Bool("ceil_mode", false)
}

func maxPool(c *call) values {
	w, ceil := c.pool(c.X(0))
	columns := c.Int("storage_order", 0) == 1
	if len(c.Node.Out) > 1 && c.Node.Out[1] != "" {
		return c.Results(ops.MaxPoolIndices, ops.MaxPoolIndicesAttrs{
			PoolSize: w.Kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, CeilMode: ceil, ColumnMajor: columns}, c.X(0))
	}
	d := byRank(len(w.In), ops.MaxPool1d, ops.MaxPool2d, ops.MaxPool3d)
	return values{c.Apply(d, ops.PoolAttrs{PoolSize: w.Kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation, CeilMode: ceil}, c.X(0))}
}

func averagePool(c *call) *graph.Value { return c.averagePoolOf(c.X(0)) }

func (c *call) averagePoolOf(x *graph.Value) *graph.Value {
	w, ceil := c.pool(x)
	d := byRank(len(w.In), ops.AvgPool1d, ops.AvgPool2d, ops.AvgPool3d)
	return c.Apply(d, ops.AvgPoolAttrs{PoolSize: w.Kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation,
		CeilMode: ceil, CountIncludePad: c.Bool("count_include_pad", false)}, x)
}

// norm is the attribute p, a float in opset 1.
func (c *call) norm() int {
	if c.Node.Version >= 2 {
		return c.Int("p", 2)
	}
	p := c.Float("p", 2)
	if p != float64(int(p)) {
		compose.Fail("the norm of order %v is not supported; whole orders are", p)
	}
	return int(p)
}

func lpPool(c *call) *graph.Value {
	w, ceil := c.pool(c.X(0))
	return c.Apply(ops.LpPool, ops.LpPoolAttrs{PoolSize: w.Kernel, Strides: w.Strides, Padding: w.Padding, Dilation: w.Dilation,
		CeilMode: ceil, P: c.norm()}, c.X(0))
}

func globalAveragePool(c *call) *graph.Value {
	c.WantRank(0, 3)
	return c.Reduce(ops.Mean, c.X(0), true, compose.LastAxes(c.X(0), 2)...)
}

func globalMaxPool(c *call) *graph.Value {
	c.WantRank(0, 3)
	return c.Reduce(ops.Max, c.X(0), true, compose.LastAxes(c.X(0), 2)...)
}

func globalLpPool(c *call) *graph.Value {
	c.WantRank(0, 3)
	return c.LpNorm(c.X(0), float64(c.norm()), true, compose.LastAxes(c.X(0), 2)...)
}

// gemm is alpha*A*B + beta*C, dense where B is transposed: that is how fully connected layers come.
func gemm(c *call) *graph.Value {
	c.Ignore("broadcast")
	x, w := c.X(0), c.X(1)
	if x.Type.Rank() != 2 || w.Type.Rank() != 2 {
		compose.Fail("operands %s and %s; both must have two axes", x.Type, w.Type)
	}
	ta, tb := c.Bool("transA", false), c.Bool("transB", false)
	y := x
	switch {
	case tb && !ta:
		y = c.Do(ops.Dense, x, w)
	default:
		y = c.Apply(ops.Matmul, ops.MatmulAttrs{TransposeA: ta, TransposeB: tb}, x, w)
	}
	y = c.Scaled(y, c.Float("alpha", 1))
	beta := c.Float("beta", 1)
	if !c.Present(2) || beta == 0 {
		return y
	}
	return c.Do(ops.Add, y, c.Scaled(c.X(2), beta))
}

func matMul(c *call) *graph.Value { return c.NumpyMatmul(c.X(0), c.X(1)) }

func softmax(d *op.Def) func(c *call) values {
	return func(c *call) values {
		x := c.X(0)
		return values{c.Apply(d, ops.SoftmaxAttrs{Axis: frontend.Axis(c.Int("axis", -1), x.Type.Rank())}, x)}
	}
}

// softmaxFlat is the meaning before opset 13: the axes from the given one on count as one.
func softmaxFlat(d *op.Def) func(c *call) values {
	return func(c *call) values {
		return values{c.flattened(c.X(0), c.Int("axis", 1), func(x *graph.Value, a int) *graph.Value {
			return c.Apply(d, ops.SoftmaxAttrs{Axis: a}, x)
		})}
	}
}

func hardmax(c *call) values {
	return values{c.Hardmax(c.X(0), frontend.Axis(c.Int("axis", -1), c.Rank(0)))}
}

func hardmaxFlat(c *call) values { return values{c.flattened(c.X(0), c.Int("axis", 1), c.Hardmax)} }

// flattened applies f to x with the axes from at on joined to one. Where all but one of these have extent 1, f applies
// to that axis and x keeps its shape.
func (c *call) flattened(x *graph.Value, at int, f func(x *graph.Value, axis int) *graph.Value) *graph.Value {
	rank := x.Type.Rank()
	if at < 0 {
		at += rank
	}
	if at < 0 || at > rank {
		compose.Fail("axis %d of a tensor of rank %d", at, rank)
	}
	long, last := 0, at
	for a := at; a < rank; a++ {
		if x.Type.Shape[a] != 1 {
			long, last = long+1, a
		}
	}
	if long <= 1 && at < rank {
		return f(x, last)
	}
	rows := 1
	for _, n := range x.Type.Shape[:at] {
		rows *= n
	}
	columns := 1
	for _, n := range x.Type.Shape[at:] {
		columns *= n
	}
	return c.Reshape(f(c.Reshape(x, rows, columns), 1), x.Type.Shape...)
}
