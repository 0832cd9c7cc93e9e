package onnx

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var quantRows = []row{
	{"QuantizeLinear", "", 10, one(quantizeLinear)}, {"DequantizeLinear", "", 10, one(dequantizeLinear)},
	{"DynamicQuantizeLinear", "", 11, dynamicQuantizeLinear},
	{"ConvInteger", "", 10, one(convInteger)}, {"MatMulInteger", "", 10, one(matMulInteger)},
	{"QLinearConv", "", 10, one(qlinearConv)}, {"QLinearMatMul", "", 10, one(qlinearMatMul)},
}

// granularity reads axis and block_size. A single scale has no axis.
func (c *call) granularity(absent int) (at, block int) {
	at, block = c.Int("axis", absent), c.Int("block_size", 0)
	if single(c.X(1)) {
		return 0, 0
	}
	return frontend.Axis(at, c.Rank(0)), block
}

// single reports whether a scale or zero point is one number for all elements.
func single(v *graph.Value) bool { return v.Type.Elements() == 1 && v.Type.Rank() < 2 }

func quantizeLinear(c *call) *graph.Value {
	c.Ignore("saturate") // of float8 results
	x, scale, zero := c.X(0), c.X(1), c.Opt(2)
	if x.Type.DType.IsInt() {
		x = c.Cast(x, types.F32)
	}
	d := types.U8
	if zero != nil {
		d = zero.Type.DType
	} else if n := c.Int("output_dtype", 0); n != 0 {
		d = c.DType("output_dtype", 0)
	}
	c.Ignore("output_dtype")
	if p := c.Int("precision", 0); p != 0 && DType(p) != Float {
		compose.Fail("attribute \"precision\" is %s, which is not supported", DType(p))
	}
	at, block := c.granularity(1)
	in := values{x, scale}
	if zero != nil {
		in = append(in, zero)
	}
	return c.Apply(ops.Quantize, ops.QuantizeAttrs{Axis: at, BlockSize: block, OutDType: d, Rounding: ops.HalfEven}, in...)
}

func dequantizeLinear(c *call) *graph.Value {
	at, block := c.granularity(1)
	in := values{c.X(0), c.X(1)}
	if c.Present(2) {
		in = append(in, c.X(2))
	}
	y := c.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: at, BlockSize: block}, in...)
	if n := c.Int("output_dtype", 0); n != 0 {
		y = c.Cast(y, c.DType("output_dtype", 0))
	}
	return y
}

func dynamicQuantizeLinear(c *call) values {
	y, scale, zero := c.DynamicQuantize(c.X(0))
	return values{y, scale, zero}
}

// zeroPoint is operand i, or zero of like's element type.
func (c *call) zeroPoint(i int, like *graph.Value) *graph.Value {
	if c.Present(i) {
		return c.X(i)
	}
	return compose.Like(like, 0)
}

// qconv makes the integer convolution of data and weight with the node's attributes.
func (c *call) qconv(x, xZero, w, wZero *graph.Value) *graph.Value {
	if x.Type.Rank() < 3 || w.Type.Rank() != x.Type.Rank() {
		compose.Fail("data %s and weight %s", x.Type, w.Type)
	}
	win := c.window(x.Type.Shape[2:], c.kernelShape(w.Type.Shape[2:]))
	d := byRank(len(win.In), ops.QnnConv1d, ops.QnnConv2d, ops.QnnConv3d)
	return c.Apply(d, ops.ConvAttrs{Strides: win.Strides, Padding: win.Padding, Dilation: win.Dilation, Groups: c.Int("group", 1)}, x, xZero, w, wZero)
}

func convInteger(c *call) *graph.Value {
	x, w := c.X(0), c.X(1)
	return c.qconv(x, c.Scalar(c.zeroPoint(2, x)), w, c.vectorOrScalar(c.zeroPoint(3, w)))
}

// scalar makes a single number one of rank 0.
func (c *call) vectorOrScalar(v *graph.Value) *graph.Value {
	if v.Type.Elements() == 1 {
		return c.Reshape(v)
	}
	return v
}

func qlinearConv(c *call) *graph.Value {
	x, w := c.X(0), c.X(3)
	y := c.qconv(x, c.Scalar(c.X(2)), w, c.vectorOrScalar(c.X(5)))
	if c.Present(8) {
		bias := c.X(8)
		y = c.Do(ops.Add, y, c.ExpandDims(bias, axesFrom(1, y.Type.Rank()-1)...))
	}
	scale := c.Do(ops.Multiply, c.Scalar(c.X(1)), c.vectorOrScalar(c.X(4)))
	return c.Requantize(y, scale, c.Scalar(c.X(6)), c.Scalar(c.X(7)), 1)
}

// qmatmul multiplies integers; a vector of zero points of a has one for each row.
func (c *call) qmatmul(a, aZero, b, bZero *graph.Value) *graph.Value {
	if a.Type.Rank() < 2 || b.Type.Rank() < 2 {
		compose.Fail("%s and %s: products of vectors are not supported", a.Type, b.Type)
	}
	aZero, bZero = c.vectorOrScalar(aZero), c.vectorOrScalar(bZero)
	if aZero.Type.Rank() == 1 {
		aZero = c.ExpandDims(aZero, 1)
	}
	return c.Do(ops.QnnMatmul, a, aZero, b, bZero)
}

func matMulInteger(c *call) *graph.Value {
	a, b := c.X(0), c.X(1)
	return c.qmatmul(a, c.zeroPoint(2, a), b, c.zeroPoint(3, b))
}

func qlinearMatMul(c *call) *graph.Value {
	a, b := c.X(0), c.X(3)
	y := c.qmatmul(a, c.X(2), b, c.X(5))
	aScale, bScale := c.vectorOrScalar(c.X(1)), c.vectorOrScalar(c.X(4))
	last := y.Type.Rank() - 1
	at := last
	switch rows, columns := aScale.Type.Rank() > 0, bScale.Type.Rank() > 0; {
	case rows && columns || aScale.Type.Rank() > 1 || bScale.Type.Rank() > 1:
		compose.Fail("scales %s and %s: of both operands by row and column is not supported", aScale.Type, bScale.Type)
	case rows:
		at = last - 1
	}
	scale := c.Do(ops.Multiply, c.Cast(aScale, types.F32), c.Cast(bScale, types.F32))
	yScale, yZero := c.Scalar(c.X(6)), c.Scalar(c.X(7))
	return c.Requantize(y, scale, c.Cast(yScale, types.F32), yZero, at)
}
