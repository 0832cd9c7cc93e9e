package compose

import (
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Requantize moves int32 sums with scale to a result with its own scale and zero point, whose type decides the result's.
// Scales may have one entry for each index of axis.
func (b *Builder) Requantize(sum, scale, outScale, outZero *graph.Value, axis int) *graph.Value {
	a := ops.RequantizeAttrs{Axis: axis, OutDType: outZero.Type.DType, Rounding: ops.HalfEven}
	return b.Apply(ops.Requantize, a, sum, scale, Like(sum, 0), outScale, outZero)
}

// A Quantized is an integer tensor that stands for (Value - Zero) * Scale, with one scale for all elements.
type Quantized struct{ Value, Scale, Zero *graph.Value }

// Dequantize gives the real numbers.
func (b *Builder) Dequantize(q Quantized) *graph.Value {
	return b.Apply(ops.Dequantize, ops.DequantizeAttrs{}, q.Value, q.Scale, q.Zero)
}

// Quantize gives integers of the zero point's type that stand for x.
func (b *Builder) Quantize(x, scale, zero *graph.Value) *graph.Value {
	return b.Apply(ops.Quantize, ops.QuantizeAttrs{OutDType: zero.Type.DType, Rounding: ops.HalfEven}, x, scale, zero)
}

// DynamicQuantize quantises x to uint8 by its own range, which is made to include 0.
func (b *Builder) DynamicQuantize(x *graph.Value) (y, scale, zero *graph.Value) {
	extreme := func(along, with *op.Def) *graph.Value { return b.Do(with, b.Reduce(along, x, false), Like(x, 0)) }
	top, bottom := extreme(ops.Max, ops.Maximum), extreme(ops.Min, ops.Minimum)
	scale = b.Do(ops.Divide, b.Do(ops.Subtract, top, bottom), Like(x, 255))
	zero = b.Do(ops.Round, b.Do(ops.Divide, b.Do(ops.Negative, bottom), scale))
	zero = b.Cast(b.Apply(ops.Clip, ops.ClipAttrs{HasMin: true, HasMax: true, Max: 255}, zero), types.U8)
	return b.Quantize(x, scale, zero), scale, zero
}
