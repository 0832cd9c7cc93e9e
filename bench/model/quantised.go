package model

import (
	"math"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Quantize adds a pair of QuantizeLinear and DequantizeLinear to uint8 around a zero point of 128, as quantisers place them.
func (b *Builder) Quantize(x Value, scale float32) Value { return b.quantize(x, scale, 128) }

// QuantizePositive is Quantize of what is never negative.
func (b *Builder) QuantizePositive(x Value, scale float32) Value { return b.quantize(x, scale, 0) }

func (b *Builder) quantize(x Value, scale float32, zero uint8) Value {
	s, z := b.Number(scale), b.Constant(tensor.Scalar(zero))
	return b.Do("DequantizeLinear", b.Do("QuantizeLinear", x, s, z), s, z)
}

// Bytes8 is weights of int8, with a scale per place of an axis or, for -1, one of all.
func (b *Builder) Bytes8(axis int, scale float64, dims ...int) Value {
	b.Parameters += types.Count(dims)
	return b.dequantised(b.Bytes(types.I8, dims...), axis, b.scales(axis, scale, dims))
}

// scales are near a number: one, or one for each place of an axis.
func (b *Builder) scales(axis int, scale float64, dims []int) *tensor.Tensor {
	if axis < 0 {
		return tensor.Scalar(float32(scale))
	}
	return b.Uniform(0.9*scale, 1.1*scale, dims[axis])
}

// dequantised is a constant in units of scales, with zero points of 0.
func (b *Builder) dequantised(t *tensor.Tensor, axis int, scales *tensor.Tensor) Value {
	operands := []Value{b.Constant(t), b.Constant(scales), b.Constant(tensor.New(t.DType, scales.Shape...))}
	return b.Op("DequantizeLinear", operands, At("axis", max(0, axis)))
}

// ConvQuantized is a convolution of a quantised x, whose scale is given, with a bias; channels says whether the weights have a scale per
// output channel. The bias is int32 in units of both scales, as quantisers write it.
func (b *Builder) ConvQuantized(x Value, scale float32, in, out int, w Window, channels bool) Value {
	axis := -1
	if channels {
		axis = 0
	}
	dims := append([]int{out, in / max(1, w.Group)}, w.Kernel...)
	of := b.scales(axis, weightScale(dims[1:]), dims)
	b.Parameters += types.Count(dims) + out
	weights := b.dequantised(b.Bytes(types.I8, dims...), axis, of)
	units, bias := tensor.New(types.F32, of.Shape...), make([]int32, out)
	for i, s := range tensor.As[float32](of) {
		tensor.As[float32](units)[i] = scale * s
	}
	for i := range bias {
		bias[i] = int32(1000 * (i%7 - 3))
	}
	return b.Op("Conv", []Value{x, weights, b.dequantised(tensor.Of([]int{out}, bias), axis, units)}, w.Attrs()...)
}

// weightScale keeps the size of values through sums over an extent.
func weightScale(summed []int) float64 { return math.Sqrt(2/float64(types.Count(summed))) / 73 }

// LinearQuantized is Linear of a quantised x, with weights of int8 with a scale per column and a bias of float32.
func (b *Builder) LinearQuantized(x Value, in, out int) Value {
	y := b.Do("MatMul", x, b.Bytes8(1, weightScale([]int{2 * in}), in, out))
	return b.Do("Add", y, b.Weight(0.1, out))
}

// LinearDynamic is Linear whose operand is quantised by its own range while it runs, as ONNX Runtime's dynamic quantiser writes it.
func (b *Builder) LinearDynamic(x Value, in, out int) Value {
	return b.Do("Add", b.ProductDynamic(x, weightScale([]int{2 * in}), in, out), b.Weight(0.1, out))
}

// ProductDynamic is LinearDynamic without a bias, with the scale of the weights.
func (b *Builder) ProductDynamic(x Value, scale float64, in, out int) Value {
	q := b.Ops("DynamicQuantizeLinear", 3, []Value{x})
	b.Parameters += in * out
	w := b.Constant(b.Bytes(types.I8, in, out))
	sums := b.Do("MatMulInteger", q[0], w, q[2], b.Constant(tensor.Scalar(int8(0))))
	return b.Do("Mul", b.Op("Cast", []Value{sums}, At("to", 1)), b.Do("Mul", q[1], b.Number(float32(scale))))
}

// NBits is the product of x and weights of 4 or 8 bits [out, in] in blocks along the sum, as ONNX Runtime's MatMulNBits has them. zeros says
// whether blocks have zero points.
func (b *Builder) NBits(x Value, bits, block, in, out int, zeros bool) Value {
	blocks := (in + block - 1) / block
	operands := []Value{x, b.Constant(b.Bytes(types.U8, out, blocks, block*bits/8)), b.Constant(b.Uniform(0.001, 0.002, out*blocks))}
	if zeros {
		operands = append(operands, b.Constant(b.Bytes(types.U8, out*((blocks*bits+7)/8))))
	}
	b.Parameters += in * out
	return b.Microsoft("MatMulNBits", operands, At("K", in), At("N", out), At("bits", bits), At("block_size", block))
}
