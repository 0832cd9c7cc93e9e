package sweep

import (
	"fmt"

	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// qdqConv is a quantised convolution with ReLU; channels says whether scales are per channel.
func qdqConv(name string, in shape, out int, w model.Window, channels bool) Case {
	return row(name, func(b *model.Builder) model.Value {
		x := b.Quantize(b.Input(in...), 0.03)
		return b.Quantize(b.Do("Relu", b.ConvQuantized(x, 0.03, in[1], out, w, channels)), 0.05)
	})
}

// qdqWrapped is a quantised convolution between two of 1x1.
func qdqWrapped(name string, in shape, out int, w model.Window) Case {
	return row(name, func(b *model.Builder) model.Value {
		x := b.Quantize(b.Input(in...), 0.03)
		x = b.Quantize(b.Do("Relu", b.ConvQuantized(x, 0.03, in[1], in[1], sq(1), true)), 0.05)
		x = b.Quantize(b.Do("Relu", b.ConvQuantized(x, 0.05, in[1], out, w, true)), 0.05)
		return b.Quantize(b.ConvQuantized(x, 0.05, out, out, sq(1), true), 0.05)
	})
}

// qdqHead is a quantised convolution to few channels behind one of 1x1, as heads and last layers are.
func qdqHead(name string, in shape, out int, w model.Window) Case {
	return row(name, func(b *model.Builder) model.Value {
		x := b.Quantize(b.Input(in...), 0.03)
		x = b.Quantize(b.Do("Relu", b.ConvQuantized(x, 0.03, in[1], in[1], sq(1), true)), 0.05)
		return b.Quantize(b.ConvQuantized(x, 0.05, in[1], out, w, true), 0.05)
	})
}

// qdqProduct is a quantised matrix product.
func qdqProduct(m, k, n, axis int, note string) Case {
	return row(fmt.Sprintf("qdq_%dx%dx%d%s", m, k, n, note), func(b *model.Builder) model.Value {
		x := b.Quantize(b.Input(m, k), 0.03)
		return b.Quantize(b.Do("MatMul", x, b.Bytes8(axis, 0.01, k, n)), 0.5)
	})
}

var int8Cases = []Case{
	qdqConv("qdq_3x3_64_56", image(64, 56), 64, sq(3), true),
	qdqConv("qdq_3x3_64_56_tensor", image(64, 56), 64, sq(3), false),
	row("qdq_3x3_64_56_float_bias", func(b *model.Builder) model.Value {
		x := b.Quantize(b.Input(1, 64, 56, 56), 0.03)
		weights := b.Bytes8(0, 0.0008, 64, 64, 3, 3)
		y := b.Op("Conv", []model.Value{x, weights, b.Constant(b.Uniform(-1, 1, 64))}, sq(3).Attrs()...)
		return b.Quantize(b.Do("Relu", y), 0.05)
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
	qdqWrapped("g2w18_36_28_wrap", image(36, 28), 36, sq(3).Grouped(2)),
	qdqWrapped("g4w17_68_28_wrap", image(68, 28), 68, sq(3).Grouped(4)),
	qdqWrapped("g4w60_240_28_wrap", image(240, 28), 240, sq(3).Grouped(4)),
	qdqConv("g3_48to17_22", image(144, 22), 51, sq(3).Grouped(3), true),
	qdqWrapped("qdq_dw3x3_144_28_wrap", image(144, 28), 144, sq(3).Grouped(144)),
	qdqConv("qdq_3x3_1_1_96", image(1, 96), 1, sq(3), true),
	qdqConv("qdq_3x3_3_1_96", image(3, 96), 1, sq(3), true),
	qdqConv("qdq_3x3s2_3_8_96", image(3, 96), 8, sq(3).By(2), true),
	qdqConv("qdq_3x3_8_4_64", image(8, 64), 4, sq(3), true),
	row("dynquant_3x3_64_64_56", func(b *model.Builder) model.Value {
		x := b.ConvBNReLU(b.ConvBNReLU(b.Input(1, 64, 56, 56), 64, 64, sq(1)), 64, 64, sq(3))
		b.Output(b.ConvBNReLU(x, 64, 64, sq(1)))
		b.Dynamic(model.Dynamic{Weights: types.U8, Convs: true})
		return x
	}),
	qdqHead("head_3x3_32_1_48", image(32, 48), 1, sq(3)),
	qdqHead("head_1x1_64_2_40", image(64, 40), 2, sq(1)),
	qdqHead("head_3x3_64_3_56", image(64, 56), 3, sq(3)),
	qdqHead("head_5x5s2_24_8_38", image(24, 38), 8, sq(5).By(2)),
	qdqHead("head_1x1_128_12_26", image(128, 26), 12, sq(1)),
	row("qlinearconv_3x3_64_56", func(b *model.Builder) model.Value {
		scale, zero := b.Number(0.03), b.Constant(tensor.Scalar(uint8(128)))
		x := b.Do("QuantizeLinear", b.Input(1, 64, 56, 56), scale, zero)
		w, ws, wz := b.Constant(b.Bytes(types.I8, 64, 64, 3, 3)), b.Number(0.001), b.Constant(tensor.Scalar(int8(0)))
		y := b.Op("QLinearConv", []model.Value{x, scale, zero, w, ws, wz, scale, zero}, sq(3).Attrs()...)
		return b.Do("DequantizeLinear", y, scale, zero)
	}),
	qdqProduct(1, 2048, 1000, 1, ""), qdqProduct(1, 4096, 4096, -1, "_tensor"), qdqProduct(128, 768, 768, 1, ""),
	qdqProduct(128, 768, 3072, 1, ""), qdqProduct(17, 33, 65, 1, "_odd"), qdqProduct(512, 512, 512, 1, ""),
	qdqProduct(1024, 1024, 1024, 1, ""), qdqProduct(2048, 2048, 2048, 1, ""), qdqProduct(512, 4096, 4096, 1, ""),
	row("qdq_stack_8x32x512x1024", func(b *model.Builder) model.Value {
		return b.Quantize(b.Do("MatMul", b.Quantize(b.Input(8, 32, 512), 0.03), b.Bytes8(-1, 0.01, 8, 512, 1024)), 0.5)
	}),
	row("dynquant_ffn_128", func(b *model.Builder) model.Value {
		return b.ProductDynamic(b.Do("Relu", b.ProductDynamic(b.Input(128, 768), 0.001, 768, 3072)), 0.001, 3072, 768)
	}),
	row("dynquant_1x1024x4096", func(b *model.Builder) model.Value { return b.ProductDynamic(b.Input(1, 1024), 0.001, 1024, 4096) }),
	weightOnly(1, 4096, 4096), weightOnly(1, 256, 256), weightOnly(1, 768, 3072), weightOnly(4, 1024, 1024), weightOnly(16, 2048, 2048), weightOnly(128, 1024, 1024),
	row("qdq_add_64_56", func(b *model.Builder) model.Value {
		x, y := b.Quantize(b.Input(1, 64, 56, 56), 0.03), b.Quantize(b.Input(1, 64, 56, 56), 0.02)
		return b.Quantize(b.Do("Relu", b.Do("Add", x, y)), 0.04)
	}),
	row("qdq_maxpool_64_112", func(b *model.Builder) model.Value {
		return b.Quantize(b.MaxPool(b.Quantize(b.Input(1, 64, 112, 112), 0.03), sq(3).By(2)), 0.03)
	}),
	row("qdq_globalavg_1280_7", func(b *model.Builder) model.Value {
		return b.Quantize(b.Do("GlobalAveragePool", b.Quantize(b.Input(1, 1280, 7, 7), 0.03)), 0.01)
	}),
}

// weightOnly is a product of float32 and weights of int8 that have a scale for each column.
func weightOnly(m, in, out int) Case {
	return row(fmt.Sprintf("weight_only_%dx%dx%d", m, in, out), func(b *model.Builder) model.Value {
		return b.Do("MatMul", b.Input(m, in), b.Bytes8(1, 0.001, in, out))
	})
}

// nBits is a product of block-quantised weights.
func nBits(m, bits, block, in, out int, zeros bool) Case {
	note := ""
	if zeros {
		note = "_zeros"
	}
	return row(fmt.Sprintf("w%d_%d_%dx%dx%d%s", bits, block, m, in, out, note), func(b *model.Builder) model.Value {
		return b.NBits(b.Input(m, in), bits, block, in, out, zeros)
	})
}

// nBitsCases are the shapes of decoders: a word, a few, and a prompt.
var nBitsCases = []Case{
	nBits(1, 4, 32, 4096, 4096, false), nBits(1, 4, 32, 4096, 4096, true), nBits(1, 4, 32, 2048, 5632, false), nBits(1, 4, 32, 5632, 2048, false),
	nBits(1, 4, 128, 4096, 11008, false), nBits(1, 4, 64, 2048, 2048, true), nBits(1, 4, 16, 1024, 1024, false), nBits(1, 8, 32, 4096, 4096, false),
	nBits(1, 4, 32, 2048, 32000, false), nBits(4, 4, 32, 2048, 2048, false), nBits(16, 4, 32, 2048, 2048, false), nBits(128, 4, 32, 2048, 2048, false),
	nBits(128, 4, 32, 2048, 2048, true), nBits(512, 4, 128, 1024, 4096, false), nBits(128, 8, 32, 1024, 1024, true), nBits(3, 4, 32, 100, 77, true),
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
