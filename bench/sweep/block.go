package sweep

import (
	"lathe/bench/model"
	"lathe/bench/zoo"
)

// then is a convolution with an activation behind it.
func then(name string, in shape, out int, w model.Window, f func(b *model.Builder, x model.Value) model.Value) Case {
	return row(name, func(b *model.Builder) model.Value { return f(b, b.ConvBN(b.Input(in...), in[1], out, w)) })
}

// unary is an activation of one node.
func unary(op string, attrs ...model.Attr) func(b *model.Builder, x model.Value) model.Value {
	return func(b *model.Builder, x model.Value) model.Value { return b.Op(op, []model.Value{x}, attrs...) }
}

func silu(b *model.Builder, x model.Value) model.Value { return b.SiLU(x) }
func gelu(b *model.Builder, x model.Value) model.Value { return b.GELU(x) }

func mish(b *model.Builder, x model.Value) model.Value {
	return b.Do("Mul", x, b.Do("Tanh", b.Do("Softplus", x)))
}

func relu6(b *model.Builder, x model.Value) model.Value {
	return b.Do("Clip", x, b.Number(0), b.Number(6))
}

func prelu(b *model.Builder, x model.Value) model.Value {
	return b.Do("PRelu", x, b.Weight(0.25, 64, 1, 1))
}

var epilogue = []Case{
	then("relu_3x3_64_56", image(64, 56), 64, sq(3), unary("Relu")),
	then("relu6_1x1_32_192_56", image(32, 56), 192, sq(1), relu6),
	then("silu_3x3_64_80_yolo", image(64, 80), 64, sq(3), silu),
	then("silu_1x1_128_256_40_yolo", image(128, 40), 256, sq(1), silu),
	then("silu_dw3x3_144_56", image(144, 56), 144, sq(3).Grouped(144), silu),
	then("gelu_1x1_96_384_56", image(96, 56), 384, sq(1), gelu),
	then("gelu_3x3_64_56", image(64, 56), 64, sq(3), gelu),
	then("hardswish_1x1_40_240_28", image(40, 28), 240, sq(1), unary("HardSwish")),
	then("hardswish_dw5x5_240_28", image(240, 28), 240, sq(5).Grouped(240), unary("HardSwish")),
	then("mish_3x3_64_76_yolov4", image(64, 76), 64, sq(3), mish),
	then("leaky_3x3_128_52_yolov3", image(128, 52), 128, sq(3), unary("LeakyRelu", at("alpha", 0.1))),
	then("prelu_3x3_64_56", image(64, 56), 64, sq(3), prelu),
	then("sigmoid_1x1_64_64_56", image(64, 56), 64, sq(1), unary("Sigmoid")),
	then("tanh_7x7_64_3_128", image(64, 128), 3, sq(7), unary("Tanh")),
	then("elu_3x3_64_56", image(64, 56), 64, sq(3), unary("Elu")),
}

// withInput is a case of a block on an image.
func withInput(name string, in shape, f func(b *model.Builder, x model.Value) model.Value) Case {
	return row(name, func(b *model.Builder) model.Value { return f(b, b.Input(in...)) })
}

var block = []Case{
	withInput("resnet_basic_64_56", image(64, 56), func(b *model.Builder, x model.Value) model.Value {
		y := b.ConvBN(b.ConvBNReLU(x, 64, 64, sq(3)), 64, 64, sq(3))
		return b.Do("Relu", b.Do("Add", y, x))
	}),
	withInput("resnet_bottleneck_256_56", image(256, 56), func(b *model.Builder, x model.Value) model.Value {
		y := b.ConvBNReLU(b.ConvBNReLU(x, 256, 64, sq(1)), 64, 64, sq(3))
		return b.Do("Relu", b.Do("Add", b.ConvBN(y, 64, 256, sq(1)), x))
	}),
	withInput("shufflenetv1_unit_g3", image(240, 28), func(b *model.Builder, x model.Value) model.Value {
		return zoo.ShuffleUnit(b, x, 240, 240, 28, 3, false)
	}),
	withInput("convnext_96_56", image(96, 56), func(b *model.Builder, x model.Value) model.Value { return zoo.ConvNeXtBlock(b, x, 96) }),
	withInput("mobilenetv2_inverted_32_28", image(32, 28), func(b *model.Builder, x model.Value) model.Value {
		y := relu6(b, b.ConvBN(x, 32, 192, sq(1)))
		y = relu6(b, b.ConvBN(y, 192, 192, sq(3).Grouped(192)))
		return b.Do("Add", b.ConvBN(y, 192, 32, sq(1)), x)
	}),
	withInput("squeeze_excite_240_28", image(240, 28), func(b *model.Builder, x model.Value) model.Value {
		s := b.SiLU(b.ConvBias(b.Do("GlobalAveragePool", x), 240, 10, sq(1)))
		return b.Do("Mul", x, b.Do("Sigmoid", b.ConvBias(s, 10, 240, sq(1))))
	}),
	withInput("dense_layer_256_28", image(256, 28), func(b *model.Builder, x model.Value) model.Value {
		y := b.Do("Relu", b.BatchNorm(x, 256))
		return b.Concat(1, x, b.Conv(b.ConvBNReLU(y, 256, 128, sq(1)), 128, 32, sq(3)))
	}),
	withInput("fire_128_27_squeezenet", image(128, 27), func(b *model.Builder, x model.Value) model.Value {
		s := b.Do("Relu", b.ConvBias(x, 128, 16, sq(1)))
		return b.Concat(1, b.Do("Relu", b.ConvBias(s, 16, 64, sq(1))), b.Do("Relu", b.ConvBias(s, 16, 64, sq(3))))
	}),
	withInput("instance_norm_256_64_cyclegan", image(256, 64), func(b *model.Builder, x model.Value) model.Value {
		return b.Do("Relu", instanceNorm(b, b.ConvBias(x, 256, 256, sq(3)), 256))
	}),
	withInput("superres_shuffle_64_12_112", image(64, 112), func(b *model.Builder, x model.Value) model.Value {
		return b.Op("DepthToSpace", []model.Value{b.ConvBias(x, 64, 12, sq(3))}, at("blocksize", 2), at("mode", "CRD"))
	}),
	withInput("transformer_128x256", shape{1, 128, 256}, func(b *model.Builder, x model.Value) model.Value {
		x = b.LayerNorm(b.Do("Add", x, b.Attention(x, 128, 4, 64, model.Absent)), 256)
		return b.LayerNorm(b.Do("Add", x, b.Linear(b.GELU(b.Linear(x, 256, 1024)), 1024, 256)), 256)
	}),
	withInput("unet_up_skip_128_64_64", image(128, 64), func(b *model.Builder, x model.Value) model.Value {
		skip := b.ConvBNReLU(b.ConvTranspose(x, 128, 64, up(2, 2, 0), true), 64, 64, sq(3))
		return b.ConvBNReLU(b.Concat(1, skip, skip), 128, 64, sq(3))
	}),
}
