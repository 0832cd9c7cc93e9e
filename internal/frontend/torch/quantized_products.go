package torch

import (
	"math"
	"slices"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	hosttensor "lathe/internal/tensor"
	"lathe/internal/types"
)

// relued is x, or what of it is positive where the operator's name says so.
func (c *call) relued(x *graph.Value) *graph.Value {
	if strings.Contains(c.name, "_relu") && !strings.Contains(c.name, "leaky_relu") {
		return c.Do(ops.Relu, x)
	}
	return x
}

// sums gives integer sums as a tensor with the operator's scale and zero: the bias is added in steps of the sums, then they are multiplied
// by (input scale * weight scale) * (1 / output scale), all in float32.
func (c *call) sums(acc *graph.Value, x *tensor, p *packed, axis int) *tensor {
	in := float32(x.quant.scales[0])
	scale, zero := c.num("output_scale", 1), int64(c.int("output_zero_point", 0))
	q := p.weight.quant
	factors := hosttensor.New(types.F32, len(q.scales))
	if p.bias != nil {
		acc = c.Do(ops.Add, acc, c.steps(p, in, acc.Type.Rank(), axis))
	}
	for i, s := range q.scales {
		factors.SetFloat(i, float64(float32(s)*in*(1/float32(scale))))
	}
	if len(q.scales) == 1 {
		factors = factors.Reshape()
	}
	d := c.get(x).Type.DType
	y := c.Requantize(acc, compose.Const(factors), floatOf(1), zeroOf(d, zero), axis)
	if strings.Contains(c.name, "_relu") {
		y = c.Do(ops.Maximum, y, zeroOf(d, zero))
	}
	return c.withQuant(y, scale, zero)
}

// steps is the bias in steps of the sums.
func (c *call) steps(p *packed, in float32, rank, axis int) *graph.Value {
	b := hostValue(p.bias)
	if b == nil {
		fail("a bias that depends on data is not supported")
	}
	shape := slices.Repeat([]int{1}, rank)
	shape[axis] = b.Len()
	out := hosttensor.New(types.I32, shape...)
	for i := range b.Len() {
		s := float32(p.weight.quant.scales[min(i, len(p.weight.quant.scales)-1)]) * in
		out.SetFloat(i, min(max(math.RoundToEven(float64(float32(b.Float(i))/s)), math.MinInt32), math.MaxInt32))
	}
	return compose.Const(out)
}

// checked tests that data and weight are quantised as integer kernels want it.
func (c *call) checked(x *tensor, p *packed) {
	if x.quant == nil || x.quant.axis >= 0 || p.weight.quant == nil {
		fail("data or weights that are not quantised")
	}
}

func quantizedConv(c *call) any {
	x, p := c.t("qx"), c.packed("packed")
	c.checked(x, p)
	n := c.rank(p.weight) - 2
	scale, zero := c.num("output_scale", 1), int64(c.int("output_zero_point", 0))
	if p.transposed {
		w := c.realOf(p.weight.v, p.weight.quant)
		return c.quantized(c.relued(c.convolvePacked(p, c.dequantized(x), w)), scale, zero, c.get(x).Type.DType)
	}
	weight := c.get(p.weight)
	_, xz := c.parameters(x.quant, c.get(x).Type.DType)
	_, wz := c.parameters(p.weight.quant, weight.Type.DType)
	acc := c.Apply(byRank(n, ops.QnnConv1d, ops.QnnConv2d, ops.QnnConv3d), p.conv(n), c.get(x), xz, weight, wz)
	return c.sums(acc, x, p, 1)
}

func quantizedLinear(c *call) any {
	x, p := c.t("X"), c.packed("W_prepack")
	c.checked(x, p)
	_, xz := c.parameters(x.quant, c.get(x).Type.DType)
	acc := c.product(c.get(x), xz, p)
	return c.sums(acc, x, p, acc.Type.Rank()-1)
}

// product is the integer product of data with the transpose of a weight.
func (c *call) product(x, xz *graph.Value, p *packed) *graph.Value {
	w := c.get(p.weight)
	_, wz := c.parameters(p.weight.quant, w.Type.DType)
	return c.Do(ops.QnnMatmul, x, xz, c.Transpose(w, 1, 0), wz)
}

// dynamicLinear quantises data by its range, which includes 0, to 8 bits, and gives floats.
func dynamicLinear(c *call) any {
	p := c.packed("W_prepack")
	x := c.x("X")
	if p.weight.quant == nil {
		return c.relued(c.plus(c.dense(x, c.Cast(p.weight.v, types.F32)), p.bias))
	}
	shape := x.Type.Shape
	if x.Type.Rank() < 2 {
		x = c.Reshape(x, 1, x.Type.Elements())
	}
	y, scale, zero := c.dynamicallyQuantized(x)
	acc := c.Cast(c.product(y, zero, p), types.F32)
	ws, _ := c.parameters(p.weight.quant, types.I8)
	out := c.plus(c.Do(ops.Multiply, acc, c.Do(ops.Multiply, scale, ws)), p.bias)
	return c.relued(c.Reshape(out, append(slices.Clone(shape[:max(len(shape)-1, 0)]), out.Type.Shape[out.Type.Rank()-1])...))
}

// dynamicallyQuantized quantises x by its own range to uint8: round(x * (1/scale)) + zero.
func (c *call) dynamicallyQuantized(x *graph.Value) (y, scale, zero *graph.Value) {
	top := c.Do(ops.Maximum, c.Reduce(ops.Max, x, false), like(x, 0))
	bottom := c.Do(ops.Minimum, c.Reduce(ops.Min, x, false), like(x, 0))
	scale = c.Do(ops.Divide, c.Do(ops.Subtract, top, bottom), like(x, 255))
	scale = c.Do(ops.Where, c.Do(ops.Equal, scale, like(x, 0)), like(x, 0.1), scale)
	zero = c.bounded(c.Do(ops.Round, c.Do(ops.Divide, c.Do(ops.Negative, bottom), scale)), 0, 255)
	zero = c.Cast(zero, types.U8)
	return c.Quantize(c.Do(ops.Multiply, x, c.Do(ops.Reciprocal, scale)), floatOf(1), zero), scale, zero
}
