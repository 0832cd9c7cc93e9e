package onnx

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// ONNX Runtime's operators on quantised tensors. All but QGemm compute in float32 between dequantising and quantising,
// as ONNX Runtime's own kernels do by tables or vectors.
var qlinearRows = []row{
	{"QLinearAdd", microsoft, 1, one(qlinearAdd)}, {"QLinearMul", microsoft, 1, one(qlinearMul)},
	{"QLinearSigmoid", microsoft, 1, qlinearUnary((*call).qsigmoid)}, {"QLinearLeakyRelu", microsoft, 1, qlinearUnary((*call).qleakyRelu)},
	{"QLinearSoftmax", microsoft, 1, qlinearUnary((*call).qsoftmax)},
	{"QLinearAveragePool", microsoft, 1, one(qlinearAveragePool)},
	{"QLinearGlobalAveragePool", microsoft, 1, qlinearUnary((*call).qglobalAveragePool)},
	{"QLinearConcat", microsoft, 1, qlinearConcat}, {"QGemm", microsoft, 1, one(qgemm)},
	{"QuantizeLinear", microsoft, 1, one(quantizeLinear)}, {"DequantizeLinear", microsoft, 1, one(dequantizeLinear)},
}

const microsoft = "com.microsoft"

// quantized is the tensor at operand i with scale and zero point behind it.
func (c *call) quantized(i int) compose.Quantized {
	return compose.Quantized{Value: c.X(i), Scale: c.Scalar(c.X(i + 1)), Zero: c.Scalar(c.zeroPoint(i+2, c.X(i)))}
}

// requantized quantises x by the scale at operand i and the zero point behind it, which is 0 of like's type if absent.
func (c *call) requantized(x *graph.Value, i int, like *graph.Value) *graph.Value {
	return c.Quantize(x, c.Scalar(c.X(i)), c.Scalar(c.zeroPoint(i+1, like)))
}

// steps quantises x, a result in steps of the scale whose zero point is operand i, absent for 0 of like's type. The zero
// point is added before the sum is rounded to even, as ONNX Runtime does for operators that combine several elements:
// where it is odd, a tie goes the other way than behind QuantizeLinear.
func (c *call) steps(x *graph.Value, i int, like *graph.Value) *graph.Value {
	zero := c.Scalar(c.zeroPoint(i, like))
	x = c.Do(ops.Add, x, c.Cast(zero, types.F32))
	return c.Quantize(x, compose.Number(types.F32, 1), compose.Number(zero.Type.DType, 0))
}

// qlinearAdd adds both operands in steps of the result.
func qlinearAdd(c *call) *graph.Value {
	y := c.Scalar(c.X(6))
	term := func(i int) *graph.Value {
		q := c.quantized(i)
		q.Scale = c.Do(ops.Divide, q.Scale, y)
		return c.Dequantize(q)
	}
	return c.steps(c.Do(ops.Add, term(0), term(3)), 7, c.X(0))
}

// qlinearMul multiplies whole numbers, and their product by one factor.
func qlinearMul(c *call) *graph.Value {
	a, b := c.quantized(0), c.quantized(3)
	factor := c.Do(ops.Divide, c.Do(ops.Multiply, a.Scale, b.Scale), c.Scalar(c.X(6)))
	unit := compose.Number(types.F32, 1)
	a.Scale, b.Scale = unit, unit
	return c.steps(c.Do(ops.Multiply, c.Do(ops.Multiply, c.Dequantize(a), c.Dequantize(b)), factor), 7, c.X(0))
}

func qlinearUnary(f func(c *call, x *graph.Value) *graph.Value) func(c *call) values {
	return func(c *call) values {
		return values{c.requantized(f(c, c.Dequantize(c.quantized(0))), 3, c.X(0))}
	}
}

func (c *call) qsigmoid(x *graph.Value) *graph.Value { return c.Do(ops.Sigmoid, x) }

func (c *call) qleakyRelu(x *graph.Value) *graph.Value {
	return c.Apply(ops.LeakyRelu, ops.AlphaAttrs{Alpha: c.Float("alpha", 0.01)}, x)
}

// qsoftmax has the meaning that its attribute opset names.
func (c *call) qsoftmax(x *graph.Value) *graph.Value {
	if c.Int("opset", 13) < 13 {
		return c.flattened(x, c.Int("axis", 1), func(x *graph.Value, a int) *graph.Value {
			return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: a}, x)
		})
	}
	return c.Apply(ops.Softmax, ops.SoftmaxAttrs{Axis: frontend.Axis(c.Int("axis", -1), x.Type.Rank())}, x)
}

// channelsFirst applies f to x with the channels on axis 1.
func (c *call) channelsFirst(x *graph.Value, f func(x *graph.Value) *graph.Value) *graph.Value {
	if !c.Bool("channels_last", false) {
		return f(x)
	}
	last := x.Type.Rank() - 1
	to := append([]int{0, last}, axesFrom(1, last)...)
	back := append(append([]int{0}, axesFrom(2, last+1)...), 1)
	return c.Transpose(f(c.Transpose(x, to...)), back...)
}

func qlinearAveragePool(c *call) *graph.Value {
	y := c.channelsFirst(c.Dequantize(c.quantized(0)), func(x *graph.Value) *graph.Value { return c.averagePoolOf(x) })
	return c.steps(c.Do(ops.Divide, y, c.Scalar(c.X(3))), 4, c.X(0))
}

func (c *call) qglobalAveragePool(x *graph.Value) *graph.Value {
	return c.channelsFirst(x, func(x *graph.Value) *graph.Value {
		return c.Reduce(ops.Mean, x, true, compose.LastAxes(x, 2)...)
	})
}

func qlinearConcat(c *call) values {
	var parts values
	for i := 2; i < len(c.In); i += 3 {
		parts = append(parts, c.Dequantize(c.quantized(i)))
	}
	if len(parts) == 0 {
		compose.Fail("nothing to join")
	}
	y := c.Concat(frontend.Axis(c.Int("axis", 0), parts[0].Type.Rank()), parts...)
	return values{c.requantized(y, 0, c.X(2))}
}

// qgemm is alpha*A*B + C with int32 sums; without an output scale the result is float32.
func qgemm(c *call) *graph.Value {
	a, b := c.X(0), c.X(3)
	if a.Type.Rank() != 2 || b.Type.Rank() != 2 {
		compose.Fail("operands %s and %s; both must have two axes", a.Type, b.Type)
	}
	if c.Bool("transA", false) {
		a = c.Transpose(a, 1, 0)
	}
	if c.Bool("transB", false) {
		b = c.Transpose(b, 1, 0)
	}
	y := c.qmatmul(a, c.zeroPoint(2, a), b, c.zeroPoint(5, b))
	if c.Present(6) {
		y = c.Do(ops.Add, y, c.X(6))
	}
	scale := c.Do(ops.Multiply, c.Scalar(c.X(1)), c.vectorOrScalar(c.X(4)))
	scale = c.Scaled(scale, c.Float("alpha", 1))
	if !c.Present(7) {
		return c.Do(ops.Multiply, c.Cast(y, types.F32), scale)
	}
	return c.Requantize(y, scale, c.Scalar(c.X(7)), c.Scalar(c.zeroPoint(8, c.X(0))), 1)
}
