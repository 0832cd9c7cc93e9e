package sweep

import (
	"fmt"
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// quantise adds a pair of QuantizeLinear and DequantizeLinear to uint8, as quantisers place them.
func quantise(b *model.Builder, x model.Value, scale float32) model.Value {
	s, zero := b.Number(scale), b.Constant(tensor.Scalar(uint8(128)))
	return b.Do("DequantizeLinear", b.Do("QuantizeLinear", x, s, zero), s, zero)
}

// bytes8 is weights of int8, with a scale per output channel along an axis or, for -1, one of all.
func bytes8(b *model.Builder, axis int, scale float64, dims ...int) model.Value {
	return dequantised(b, b.Bytes(types.I8, dims...), axis, scales(b, axis, scale, dims))
}

// scales are near a number: one, or one for each place of an axis.
func scales(b *model.Builder, axis int, scale float64, dims []int) *tensor.Tensor {
	if axis < 0 {
		return tensor.Scalar(float32(scale))
	}
	return b.Uniform(0.9*scale, 1.1*scale, dims[axis])
}

// dequantised is a constant in units of scales, with zero points of 0.
func dequantised(b *model.Builder, t *tensor.Tensor, axis int, scales *tensor.Tensor) model.Value {
	operands := []model.Value{b.Constant(t), b.Constant(scales), b.Constant(tensor.New(t.DType, scales.Shape...))}
	return b.Op("DequantizeLinear", operands, at("axis", max(0, axis)))
}

// qdqConv is a quantised convolution with ReLU; channels says whether scales are per channel.
func qdqConv(name string, in shape, out int, w model.Window, channels bool) Case {
	return row(name, func(b *model.Builder) model.Value {
		x := quantise(b, b.Input(in...), 0.03)
		return quantise(b, b.Do("Relu", qdqLayer(b, x, 0.03, in[1], out, w, channels)), 0.05)
	})
}

// qdqLayer is a convolution of x, which has a scale. The bias is int32 in units of both scales, as quantisers write it.
func qdqLayer(b *model.Builder, x model.Value, scale float64, in, out int, w model.Window, channels bool) model.Value {
	axis := -1
	if channels {
		axis = 0
	}
	dims := append([]int{out, in / max(1, w.Group)}, w.Kernel...)
	of := scales(b, axis, weightScale(dims), dims)
	weights := dequantised(b, b.Bytes(types.I8, dims...), axis, of)
	units, bias := tensor.New(types.F32, of.Shape...), make([]int32, out)
	for i, s := range tensor.As[float32](of) {
		tensor.As[float32](units)[i] = float32(scale) * s
	}
	for i := range bias {
		bias[i] = int32(1000 * (i%7 - 3))
	}
	return b.Op("Conv", []model.Value{x, weights, dequantised(b, tensor.Of([]int{out}, bias), axis, units)}, w.Attrs()...)
}

// weightScale keeps the size of values.
func weightScale(dims []int) float64 { return math.Sqrt(2/float64(types.Count(dims[1:]))) / 73 }

// qdqWrapped is a quantised convolution between two of 1x1.
func qdqWrapped(name string, in shape, out int, w model.Window) Case {
	return row(name, func(b *model.Builder) model.Value {
		x := quantise(b, b.Input(in...), 0.03)
		x = quantise(b, b.Do("Relu", qdqLayer(b, x, 0.03, in[1], in[1], sq(1), true)), 0.05)
		x = quantise(b, b.Do("Relu", qdqLayer(b, x, 0.05, in[1], out, w, true)), 0.05)
		return quantise(b, qdqLayer(b, x, 0.05, out, out, sq(1), true), 0.05)
	})
}

// qdqProduct is a quantised matrix product.
func qdqProduct(m, k, n, axis int, note string) Case {
	return row(fmt.Sprintf("qdq_%dx%dx%d%s", m, k, n, note), func(b *model.Builder) model.Value {
		x := quantise(b, b.Input(m, k), 0.03)
		return quantise(b, b.Do("MatMul", x, bytes8(b, axis, 0.01, k, n)), 0.5)
	})
}

// dynamic is a product whose operand is quantised by its own range while it runs.
func dynamic(b *model.Builder, x model.Value, k, n int) model.Value {
	q := b.Ops("DynamicQuantizeLinear", 3, []model.Value{x})
	w := b.Constant(b.Bytes(types.I8, k, n))
	sums := b.Do("MatMulInteger", q[0], w, q[2], b.Constant(tensor.Scalar(int8(0))))
	return b.Do("Mul", b.Op("Cast", []model.Value{sums}, at("to", 1)), b.Do("Mul", q[1], b.Number(0.001)))
}

var int8Cases = []Case{
	qdqConv("qdq_3x3_64_56", image(64, 56), 64, sq(3), true),
	qdqConv("qdq_3x3_64_56_tensor", image(64, 56), 64, sq(3), false),
	row("qdq_3x3_64_56_float_bias", func(b *model.Builder) model.Value {
		x := quantise(b, b.Input(1, 64, 56, 56), 0.03)
		weights := bytes8(b, 0, 0.0008, 64, 64, 3, 3)
		y := b.Op("Conv", []model.Value{x, weights, b.Constant(b.Uniform(-1, 1, 64))}, sq(3).Attrs()...)
		return quantise(b, b.Do("Relu", y), 0.05)
	}),
	qdqConv("qdq_1x1_256_64_56", image(256, 56), 64, sq(1), true),
	qdqConv("qdq_1x1_64_256_56", image(64, 56), 256, sq(1), true),
	qdqConv("qdq_3x3s2_128_256_28", image(128, 28), 256, sq(3).By(2), true),
	qdqConv("qdq_7x7s2_3_64_224", image(3, 224), 64, sq(7).By(2), true),
	qdqConv("qdq_3x3_512_7", image(512, 7), 512, sq(3), true),
	qdqConv("qdq_dw3x3_144_56", image(144, 56), 144, sq(3).Grouped(144), true),
	qdqConv("qdq_dw5x5s2_240_28", image(240, 28), 240, sq(5).By(2).Grouped(240), true),
	qdqConv("qdq_3x3_37_53_29_odd", image(37, 29), 53, sq(3), true),
	qdqConv("conv5x5_1_32_28_mnist", image(1, 28), 32, sq(5), true),
	qdqConv("g2_192_13", image(384, 13), 384, sq(3).Grouped(2), true),
	qdqWrapped("g3w24_72_28_wrap", image(72, 28), 72, sq(3).Grouped(3)),
	qdqWrapped("qdq_dw3x3_144_28_wrap", image(144, 28), 144, sq(3).Grouped(144)),
	row("qlinearconv_3x3_64_56", func(b *model.Builder) model.Value {
		scale, zero := b.Number(0.03), b.Constant(tensor.Scalar(uint8(128)))
		x := b.Do("QuantizeLinear", b.Input(1, 64, 56, 56), scale, zero)
		w, ws, wz := b.Constant(b.Bytes(types.I8, 64, 64, 3, 3)), b.Number(0.001), b.Constant(tensor.Scalar(int8(0)))
		y := b.Op("QLinearConv", []model.Value{x, scale, zero, w, ws, wz, scale, zero}, sq(3).Attrs()...)
		return b.Do("DequantizeLinear", y, scale, zero)
	}),
	qdqProduct(1, 2048, 1000, 1, ""), qdqProduct(1, 4096, 4096, -1, "_tensor"), qdqProduct(128, 768, 768, 1, ""),
	qdqProduct(128, 768, 3072, 1, ""), qdqProduct(17, 33, 65, 1, "_odd"), qdqProduct(512, 512, 512, 1, ""),
	row("dynquant_ffn_128", func(b *model.Builder) model.Value {
		return dynamic(b, b.Do("Relu", dynamic(b, b.Input(128, 768), 768, 3072)), 3072, 768)
	}),
	row("dynquant_1x1024x4096", func(b *model.Builder) model.Value { return dynamic(b, b.Input(1, 1024), 1024, 4096) }),
	row("weight_only_1x4096x4096", func(b *model.Builder) model.Value {
		return b.Do("MatMul", b.Input(1, 4096), bytes8(b, 1, 0.001, 4096, 4096))
	}),
	row("qdq_add_64_56", func(b *model.Builder) model.Value {
		x, y := quantise(b, b.Input(1, 64, 56, 56), 0.03), quantise(b, b.Input(1, 64, 56, 56), 0.02)
		return quantise(b, b.Do("Relu", b.Do("Add", x, y)), 0.04)
	}),
	row("qdq_maxpool_64_112", func(b *model.Builder) model.Value {
		return quantise(b, b.MaxPool(quantise(b, b.Input(1, 64, 112, 112), 0.03), sq(3).By(2)), 0.03)
	}),
	row("qdq_globalavg_1280_7", func(b *model.Builder) model.Value {
		return quantise(b, b.Do("GlobalAveragePool", quantise(b, b.Input(1, 1280, 7, 7), 0.03)), 0.01)
	}),
}

// half is a case on an input of float16.
func half(name string, in shape, f func(b *model.Builder, x model.Value) model.Value) Case {
	return Case{name, func(b *model.Builder) { b.OutputOf(types.F16, f(b, b.InputOf(b.Half(1, in...)))) }}
}

var fp16 = []Case{
	half("conv3x3_64_56", image(64, 56), func(b *model.Builder, x model.Value) model.Value {
		return b.Op("Conv", []model.Value{x, b.Constant(b.Half(0.05, 64, 64, 3, 3))}, sq(3).Attrs()...)
	}),
	half("conv1x1_256_64_56", image(256, 56), func(b *model.Builder, x model.Value) model.Value {
		return b.Op("Conv", []model.Value{x, b.Constant(b.Half(0.05, 64, 256, 1, 1))}, sq(1).Attrs()...)
	}),
	half("dw3x3_144_28", image(144, 28), func(b *model.Builder, x model.Value) model.Value {
		return b.Op("Conv", []model.Value{x, b.Constant(b.Half(0.3, 144, 1, 3, 3))}, sq(3).Grouped(144).Attrs()...)
	}),
	half("matmul_128x768x768", shape{128, 768}, func(b *model.Builder, x model.Value) model.Value {
		return b.Do("MatMul", x, b.Constant(b.Half(0.03, 768, 768)))
	}),
	half("matmul_1x4096x4096", shape{1, 4096}, func(b *model.Builder, x model.Value) model.Value {
		return b.Do("MatMul", x, b.Constant(b.Half(0.02, 4096, 4096)))
	}),
	half("relu_64_56", image(64, 56), unary("Relu")),
	half("sigmoid_64_56", image(64, 56), unary("Sigmoid")),
	half("softmax_12x128x128", shape{12, 128, 128}, unary("Softmax", at("axis", -1))),
	half("maxpool2_64_56", image(64, 56), unary("MaxPool", plain(2, 2).Attrs()...)),
	half("transpose_heads_128x12x64", shape{1, 128, 12, 64}, unary("Transpose", at("perm", []int{0, 2, 1, 3}))),
}
