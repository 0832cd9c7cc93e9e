package tflite

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Hybrid operators have 8-bit weights and data in float32, which a run quantises by its own range, each batch entry, or row, for itself: with a
// scale for all weights over both signs alike, with one for each channel, or where the option says so, over the range.

// ranged quantises x, of rank r, each slice of axis 0 for itself: to integers that stand for (q - zero) * scale. zero is nil for a
// range of both signs alike. Scale and zero have the shape of x with 1 for all axes but the first.
func (c *call) ranged(x *graph.Value, oneSided bool) (q, scale, zero *graph.Value) {
	axes := compose.LastAxes(x, 1)
	vector := func(v *graph.Value) *graph.Value { return c.Reshape(v, v.Type.Shape[0]) }
	a := ops.QuantizeAttrs{OutDType: types.I8, Rounding: ops.HalfEven}
	if !oneSided {
		scale = c.Do(ops.Divide, c.Reduce(ops.Max, c.Do(ops.Abs, x), true, axes...), compose.Like(x, 127))
		return c.Apply(ops.Quantize, a, x, vector(scale), c.Full(types.I8, 0, x.Type.Shape[0])), scale, nil
	}
	most := c.Do(ops.Maximum, c.Reduce(ops.Max, x, true, axes...), compose.Like(x, 0))
	least := c.Do(ops.Minimum, c.Reduce(ops.Min, x, true, axes...), compose.Like(x, 0))
	scale = c.Do(ops.Divide, c.Do(ops.Subtract, most, least), compose.Like(x, 255))
	zero = c.Do(ops.Round, c.Do(ops.Subtract, compose.Like(x, -128), c.Do(ops.Divide, least, scale)))
	zero = c.Cast(zero, types.I8)
	return c.Apply(ops.Quantize, a, x, vector(scale), vector(zero)), scale, zero
}

// hybridSums brings sums of products to real numbers. sums are those of data less no zero point, ones those of data that is 1 everywhere.
func (c *call) hybridSums(sums, scale, zero *graph.Value, ones func() *graph.Value, axis int) *graph.Value {
	if zero != nil {
		sums = c.Do(ops.Subtract, sums, c.Do(ops.Multiply, c.Cast(zero, types.I32), ones()))
	}
	y := c.Do(ops.Multiply, c.Cast(sums, types.F32), scale)
	return c.Do(ops.Multiply, y, c.weightScales(y.Type.Rank(), axis))
}

// weightScales are those of operand 1, along an axis.
func (c *call) weightScales(rank, axis int) *graph.Value {
	s := c.from(1).scales()
	if s.Type.Rank() == 0 {
		return s
	}
	return c.along(s, rank, axis)
}

func (c *call) hybridConv(a ops.ConvAttrs, w *graph.Value) *graph.Value {
	x, weight := c.first(c.X(0)), c.from(1)
	q, scale, zero := c.ranged(x, len(weight.quant.scale) > 1)
	none := compose.Number(types.I8, 0)
	sum := func(q *graph.Value) *graph.Value {
		return c.Apply(ops.QnnConv2d, a, q, none, w, weight.zeros(w.Type.DType))
	}
	y := c.hybridSums(sum(q), scale, zero, func() *graph.Value {
		return sum(c.Full(types.I8, 1, append([]int{1}, x.Type.Shape[1:]...)...))
	}, 1)
	if bias := c.bias(); bias != nil {
		y = c.Do(ops.Add, y, c.along(bias, 4, 1))
	}
	return c.last(c.activated(y))
}

// hybridDense multiplies rows by operand 1.
func (c *call) hybridDense(x *graph.Value) *graph.Value {
	y := c.hybridProduct(x, c.X(1), c.from(1), c.Bool("asymmetric_quantize_inputs", false))
	if bias := c.bias(); bias != nil {
		y = c.Do(ops.Add, y, bias)
	}
	return c.activated(y)
}

// hybridProduct is rows of real numbers by the transpose of 8-bit weights.
func (c *call) hybridProduct(x, w *graph.Value, weight *tensorInfo, oneSided bool) *graph.Value {
	q, scale, zero := c.ranged(x, oneSided)
	t := c.permuted(w, 1, 0)
	wz := weight.zeros(w.Type.DType)
	sums := c.Do(ops.QnnMatmul, q, compose.Number(types.I8, 0), t, wz)
	if zero != nil {
		ones := c.Do(ops.QnnMatmul, c.Full(types.I8, 1, 1, x.Type.Shape[1]), compose.Number(types.I8, 0), t, wz)
		sums = c.Do(ops.Subtract, sums, c.Do(ops.Multiply, c.Cast(zero, types.I32), ones))
	}
	y := c.Do(ops.Multiply, c.Cast(sums, types.F32), scale)
	s := weight.scales()
	if s.Type.Rank() > 0 && !slices.Equal(s.Type.Shape, []int{w.Type.Shape[0]}) {
		compose.Fail("weight %s with scales %s", w.Type, s.Type)
	}
	return c.Do(ops.Multiply, y, s)
}

// realWeight is a weight [O, ...] in float32, whose output channels are the given axis in the file.
func (c *call) realWeight(w *graph.Value, weight *tensorInfo, axis int) *graph.Value {
	if len(weight.quant.scale) > 1 && weight.quant.axis != axis {
		compose.Fail("scales along axis %d of the weight, whose channels are axis %d", weight.quant.axis, axis)
	}
	return c.Apply(ops.Dequantize, ops.DequantizeAttrs{Axis: 0}, w, weight.scales(), weight.zeros(w.Type.DType))
}
