package torch

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var convolutionRows = []row{
	sig("conv1d conv2d conv3d", "input weight bias stride:I padding:I dilation:I groups:i", func(c *call) any { return c.convolution(c.perAxis("padding", c.spatial(), 0)) }),
	sig("conv1d conv2d conv3d", "input weight bias stride:I padding:s dilation:I groups:i", func(c *call) any { return c.convolutionBy(c.str("padding", "valid")) }),
	sig("_convolution_mode", "input weight bias stride:I padding:s dilation:I groups:i", func(c *call) any { return c.convolutionBy(c.str("padding", "valid")) }),
	sig("_convolution", "input weight bias stride:I padding:I dilation:I transposed:b output_padding:I groups:i benchmark:b deterministic:b cudnn_enabled:b allow_tf32:b", anyConvolution),
	sig("convolution convolution_overrideable", "input weight bias stride:I padding:I dilation:I transposed:b output_padding:I groups:i", anyConvolution),
	sig("conv_transpose1d conv_transpose2d conv_transpose3d", "input weight bias stride:I padding:I output_padding:I groups:i dilation:I", func(c *call) any { return c.transposed() }),
	sig("mkldnn_convolution", "self weight bias padding:I stride:I dilation:I groups:i", func(c *call) any {
		c.args["input"] = c.args["self"]
		return c.convolution(c.perAxis("padding", c.spatial(), 0))
	}),
	sig("conv_tbc", "self weight bias pad:i", func(c *call) any {
		pad := c.int("pad", 0)
		a := ops.ConvAttrs{Strides: []int{1}, Padding: []int{pad, pad}, Dilation: []int{1}, Groups: 1}
		return c.Transpose(c.Apply(ops.Conv1d, a, c.Transpose(c.x("self"), 1, 2, 0), c.Transpose(c.x("weight"), 2, 1, 0), c.x("bias")), 2, 0, 1)
	}),
}

// byRank picks the operator for a number of spatial axes.
func byRank(n int, defs ...*op.Def) *op.Def {
	if n < 1 || n > len(defs) {
		fail("%d spatial axes: 1 to %d are supported", n, len(defs))
	}
	return defs[n-1]
}

// spatial is the number of a convolution's spatial axes.
func (c *call) spatial() int { return c.x("weight").Type.Rank() - 2 }

// batched applies f to data with a batch axis, which is added and taken away where there is none.
func (m *machine) batched(x *graph.Value, rank int, f func(x *graph.Value) *graph.Value) *graph.Value {
	if x.Type.Rank() == rank-1 {
		return m.Squeeze(f(m.ExpandDims(x, 0)), 0)
	}
	if x.Type.Rank() != rank {
		fail("data %s of rank %d instead of %d", x.Type, x.Type.Rank(), rank)
	}
	return f(x)
}

// operands are data, weight and bias, if there is one, of one element type.
func (c *call) operands(x *graph.Value) []*graph.Value {
	d := c.x("weight").Type.DType
	in := []*graph.Value{c.Cast(x, d), c.x("weight")}
	if c.given("bias") {
		in = append(in, c.Cast(c.x("bias"), d))
	}
	return in
}

// convolution has the same padding at both ends of an axis.
func (c *call) convolution(pad []int) *graph.Value {
	return c.convolve(slices.Concat(pad, pad))
}

func (c *call) convolve(padding []int) *graph.Value {
	n := c.spatial()
	a := ops.ConvAttrs{Strides: c.perAxis("stride", n, 1), Padding: padding, Dilation: c.perAxis("dilation", n, 1), Groups: c.int("groups", 1)}
	return c.batched(c.x("input"), n+2, func(x *graph.Value) *graph.Value {
		return c.Apply(byRank(n, ops.Conv1d, ops.Conv2d, ops.Conv3d), a, c.operands(x)...)
	})
}

// convolutionBy pads by a word: same, where the surplus comes last, or valid.
func (c *call) convolutionBy(mode string) any {
	n := c.spatial()
	switch mode {
	case "valid":
		return c.convolve(make([]int, 2*n))
	case "same":
		kernel, dilation := c.x("weight").Type.Shape[2:], c.perAxis("dilation", n, 1)
		pads := make([]int, 2*n)
		for k := range n {
			total := (kernel[k] - 1) * dilation[k]
			pads[k], pads[n+k] = total/2, total-total/2
		}
		return c.convolve(pads)
	}
	fail("padding %q is not supported", mode)
	return nil
}

func anyConvolution(c *call) any {
	if c.bool("transposed", false) {
		return c.transposed()
	}
	return c.convolution(c.perAxis("padding", c.spatial(), 0))
}

func (c *call) transposed() any {
	n := c.spatial()
	pad := c.perAxis("padding", n, 0)
	a := ops.ConvTransposeAttrs{Strides: c.perAxis("stride", n, 1), Padding: slices.Concat(pad, pad), OutputPadding: c.perAxis("output_padding", n, 0),
		Dilation: c.perAxis("dilation", n, 1), Groups: c.int("groups", 1)}
	return c.batched(c.x("input"), n+2, func(x *graph.Value) *graph.Value {
		return c.Apply(byRank(n, ops.Conv1dTranspose, ops.Conv2dTranspose, ops.Conv3dTranspose), a, c.operands(x)...)
	})
}

var poolRows = []row{
	sig("max_pool1d max_pool2d max_pool3d", "self kernel_size:I stride:I padding:I dilation:I ceil_mode:b", func(c *call) any {
		n := int(c.name[len(c.name)-2] - '0')
		return c.batched(c.x("self"), n+2, func(x *graph.Value) *graph.Value {
			return c.Apply(byRank(n, ops.MaxPool1d, ops.MaxPool2d, ops.MaxPool3d), c.pool(n), x)
		})
	}),
	sig("max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices", "self kernel_size:I stride:I padding:I dilation:I ceil_mode:b", maxPoolIndices),
	sig("avg_pool1d avg_pool2d avg_pool3d", "self kernel_size:I stride:I padding:I ceil_mode:b count_include_pad:b divisor_override", averagePool),
	sig("lp_pool1d lp_pool2d", "self norm_type:n kernel_size:I stride:I ceil_mode:b", func(c *call) any {
		n := int(c.name[len(c.name)-2] - '0')
		p := c.pool(n)
		return c.batched(c.x("self"), n+2, func(x *graph.Value) *graph.Value {
			return c.Apply(ops.LpPool, ops.LpPoolAttrs{PoolSize: p.PoolSize, Strides: p.Strides, Padding: p.Padding, Dilation: p.Dilation, CeilMode: p.CeilMode, P: int(c.num("norm_type", 2))}, x)
		})
	}),
	sig("adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d _adaptive_avg_pool3d", "self output_size:I", func(c *call) any { return c.adaptive(ops.Mean) }),
	sig("adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d", "self output_size:I", adaptiveMax),
	sig("max_unpool2d", "self indices output_size:I", func(c *call) any {
		x := c.x("self")
		size := c.ints2("output_size")
		n := x.Type.Rank()
		shape := append(slices.Clone(x.Type.Shape[:n-2]), size...)
		return c.unpooled(x, c.Cast(c.x("indices"), types.I64), shape)
	}),
}

// pool are the attributes of a pooling over n axes.
func (c *call) pool(n int) ops.PoolAttrs {
	kernel := c.perAxis("kernel_size", n, 1)
	strides, pad := kernel, c.perAxis("padding", n, 0)
	if len(c.ints("stride")) > 0 {
		strides = c.perAxis("stride", n, 1)
	}
	return ops.PoolAttrs{PoolSize: kernel, Strides: strides, Padding: slices.Concat(pad, pad), Dilation: c.perAxis("dilation", n, 1), CeilMode: c.bool("ceil_mode", false)}
}

// maxPoolIndices gives places within each image, where the operator counts in the whole of data.
func maxPoolIndices(c *call) any {
	n := int(c.name[len("max_pool")] - '0')
	p := c.pool(n)
	x := c.x("self")
	whole := x
	if x.Type.Rank() == n+1 {
		whole = c.ExpandDims(x, 0)
	}
	out := c.Results(ops.MaxPoolIndices, ops.MaxPoolIndicesAttrs{PoolSize: p.PoolSize, Strides: p.Strides, Padding: p.Padding, Dilation: p.Dilation, CeilMode: p.CeilMode}, whole)
	image := types.Count(whole.Type.Shape[2:])
	y, at := out[0], c.Do(ops.FloorMod, out[1], compose.Number(types.I64, float64(max(image, 1))))
	if x != whole {
		y, at = c.Squeeze(y, 0), c.Squeeze(at, 0)
	}
	return []*graph.Value{y, at}
}

// unpooled puts elements at places within each image.
func (c *call) unpooled(x, at *graph.Value, shape []int) *graph.Value {
	n := len(shape)
	images, area := types.Count(shape[:n-2]), shape[n-2]*shape[n-1]
	base := c.Zeros(types.I64, images, 1)
	for i := range images {
		base.SetInt(i, int64(i*area))
	}
	flat := c.Do(ops.Add, c.Reshape(at, images, types.Count(x.Type.Shape[n-2:])), compose.Const(base))
	return c.Apply(ops.MaxUnpool, ops.MaxUnpoolAttrs{Shape: shape}, x, c.Reshape(flat, x.Type.Shape...))
}

func averagePool(c *call) any {
	n := int(c.name[len(c.name)-2] - '0')
	p := c.pool(n)
	include := c.bool("count_include_pad", true)
	divisor := c.int("divisor_override", 0)
	if divisor != 0 {
		if p.CeilMode {
			fail("divisor_override with ceil_mode is not supported")
		}
		include = true
	}
	a := ops.AvgPoolAttrs{PoolSize: p.PoolSize, Strides: p.Strides, Padding: p.Padding, Dilation: slices.Repeat([]int{1}, n), CeilMode: p.CeilMode, CountIncludePad: include}
	return c.batched(c.x("self"), n+2, func(x *graph.Value) *graph.Value {
		y := c.Apply(byRank(n, ops.AvgPool1d, ops.AvgPool2d, ops.AvgPool3d), a, x)
		if divisor != 0 {
			y = c.Scaled(y, float64(types.Count(p.PoolSize))/float64(divisor))
		}
		return y
	})
}

// adaptive reduces the windows that divide each axis into so many parts: from i*in/out, rounded down, to (i+1)*in/out, rounded up.
func (c *call) adaptive(d *op.Def) *graph.Value {
	x := c.x("self")
	n := int(c.name[len(c.name)-2] - '0')
	sizes := c.adaptiveSizes(x, n)
	first := x.Type.Rank() - n
	if d == ops.Mean && x.Type.Rank() == n+2 {
		if y := c.evenly(x, sizes); y != nil {
			return y
		}
	}
	for k, out := range sizes {
		x = c.adaptiveAxis(d, x, first+k, out)
	}
	return x
}

// adaptiveSizes are the extents of the result; None keeps that of the data.
func (c *call) adaptiveSizes(x *graph.Value, n int) []int {
	sizes := make([]int, n)
	if parts, ok := items(c.args["output_size"]); ok && len(parts) == n {
		for k, p := range parts {
			if sizes[k] = x.Type.Shape[x.Type.Rank()-n+k]; p != nil {
				sizes[k] = c.whole(p, "output_size")
			}
		}
		return sizes
	}
	return c.perAxis("output_size", n, 1)
}

// evenly is an average where all windows are equally wide, nil where they are not.
func (c *call) evenly(x *graph.Value, sizes []int) *graph.Value {
	n := len(sizes)
	if types.Count(sizes) == 1 {
		return c.Reduce(ops.Mean, x, true, compose.LastAxes(x, 2)...)
	}
	kernel := make([]int, n)
	for k, out := range sizes {
		in := x.Type.Shape[2+k]
		if out < 1 || in%out != 0 {
			return nil
		}
		kernel[k] = in / out
	}
	return c.Apply(byRank(n, ops.AvgPool1d, ops.AvgPool2d, ops.AvgPool3d),
		ops.AvgPoolAttrs{PoolSize: kernel, Strides: kernel, Padding: make([]int, 2*n), Dilation: slices.Repeat([]int{1}, n)}, x)
}

// adaptiveAxis reduces the windows of one axis: averages are a product with a matrix, anything else goes window by window.
func (c *call) adaptiveAxis(d *op.Def, x *graph.Value, axis, out int) *graph.Value {
	in := x.Type.Shape[axis]
	if out < 0 || out > 1<<16 {
		fail("an output size of %d", out)
	}
	if in == out {
		return x
	}
	var parts []*graph.Value
	for i := range out {
		parts = append(parts, c.Reduce(d, c.Slice(x, axis, i*in/out, ((i+1)*in+out-1)/out), true, axis))
	}
	return c.Concat(axis, parts...)
}

// adaptiveMax gives maxima and their places, the latter only for whole axes.
func adaptiveMax(c *call) any {
	x := c.x("self")
	n := int(c.name[len(c.name)-2] - '0')
	y := c.adaptive(ops.Max)
	if types.Count(c.adaptiveSizes(x, n)) != 1 {
		return tuple{c.fresh(y), nil}
	}
	flat := c.Reshape(x, append(slices.Clone(x.Type.Shape[:x.Type.Rank()-n]), types.Count(x.Type.Shape[x.Type.Rank()-n:]))...)
	at := c.Apply(ops.ArgMax, ops.ArgAttrs{Axis: flat.Type.Rank() - 1}, flat)
	return []*graph.Value{y, c.Reshape(at, y.Type.Shape...)}
}
