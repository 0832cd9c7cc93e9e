package sweep

import "lathe/bench/model"

// repeated are functions whose results are read several times each, by what makes larger values of them: computed where they are read, they are computed as
// often.
var repeated = []Case{
	row("tanh_over_rows_64x512x128", func(b *model.Builder) model.Value {
		return b.Do("Add", b.Input(64, 512, 128), b.Do("Tanh", b.Input(1, 512, 128)))
	}),
	row("erf_over_batch_16x128x768", func(b *model.Builder) model.Value {
		return b.Do("Add", b.Input(16, 128, 768), b.Do("Erf", b.Input(128, 768)))
	}),
	row("pow_over_batch_64x512x128", func(b *model.Builder) model.Value {
		return b.Do("Mul", b.Input(64, 512, 128), b.Do("Pow", b.InputOf(b.Uniform(0.1, 4, 512, 128)), b.Number(1.7)))
	}),
	row("sigmoid_middle_64x512x128", func(b *model.Builder) model.Value {
		return b.Do("Mul", b.Input(64, 512, 128), b.Do("Sigmoid", b.Input(64, 1, 128)))
	}),
	row("sigmoid_columns_4096x256", func(b *model.Builder) model.Value {
		return b.Do("Mul", b.Input(4096, 256), b.Do("Sigmoid", b.Input(4096, 1)))
	}),
	row("outer_512x1024", func(b *model.Builder) model.Value {
		return b.Do("Add", b.Do("Tanh", b.Input(512, 1)), b.Do("Exp", b.Input(1, 1024)))
	}),
	row("gate_channels_256_28", func(b *model.Builder) model.Value {
		return b.Do("Mul", b.Input(1, 256, 28, 28), b.Do("Sigmoid", b.Input(1, 256, 1, 1)))
	}),
	row("gate_pixels_256_28", func(b *model.Builder) model.Value {
		return b.Do("Mul", b.Input(1, 256, 28, 28), b.Do("Sigmoid", b.Input(1, 1, 28, 28)))
	}),
	row("gate_pixels_conv_64_56", func(b *model.Builder) model.Value {
		x := b.ConvBNReLU(b.Input(1, 64, 56, 56), 64, 64, sq(1))
		return b.Do("Mul", x, b.Do("Sigmoid", b.Input(1, 1, 56, 56)))
	}),
	row("tile_rows_64x512", func(b *model.Builder) model.Value {
		return b.Do("Tile", b.Do("Tanh", b.Input(64, 512)), b.Ints(16, 1))
	}),
	row("tile_columns_512x64", func(b *model.Builder) model.Value {
		return b.Do("Tile", b.Do("Tanh", b.Input(512, 64)), b.Ints(1, 16))
	}),
	row("expand_32x512x64", func(b *model.Builder) model.Value {
		return b.Do("Expand", b.Do("Tanh", b.Input(1, 512, 64)), b.Ints(32, 512, 64))
	}),
	row("upsample_64_56", func(b *model.Builder) model.Value {
		return b.Double(b.Do("Tanh", b.Input(1, 64, 56, 56)), "nearest")
	}),
	row("upsample_linear_64_56", func(b *model.Builder) model.Value {
		return b.Double(b.Do("Sigmoid", b.Input(1, 64, 56, 56)), "linear")
	}),
	row("gather_4096_of_64x256", func(b *model.Builder) model.Value {
		return b.Op("Gather", []model.Value{b.Do("Tanh", b.Input(64, 256)), b.Indices(64, 4096)}, at("axis", 0))
	}),
	row("softmax_of_bias_8x128x128", func(b *model.Builder) model.Value {
		return b.Op("Softmax", []model.Value{b.Do("Add", b.Input(8, 128, 128), b.Do("Tanh", b.Input(1, 128, 128)))}, at("axis", -1))
	}),
	row("sum_of_decay_8x512x128", func(b *model.Builder) model.Value {
		return b.Op("ReduceSum", []model.Value{b.Do("Mul", b.Input(8, 512, 128), b.Do("Exp", b.Input(8, 512, 1))), b.Ints(1)}, at("keepdims", 0))
	}),
	row("gaussians_512x512x32", func(b *model.Builder) model.Value {
		d := b.Do("Sub", b.Input(512, 512, 1), b.Weight(1, 32))
		return b.Do("Exp", b.Do("Neg", b.Do("Mul", d, d)))
	}),
	sines("sines_4096x3", 1, 10, shape{4096, 3}),
	sines("sines_2048x1x8", 1, 4, shape{2048, 1, 8}),
	sines("sines_stacked_32x128x64", 4, 1, shape{1, 32, 128, 64, 1}),
	row("heads_256x8", func(b *model.Builder) model.Value {
		return b.Concat(1, b.Do("Tanh", b.Input(256, 5)), b.Do("Sigmoid", b.Input(256, 1)), b.Do("Exp", b.Input(256, 2)))
	}),
}

// sines are sine and cosine of an input in so many frequencies, next to each other: the place of a point or a token.
func sines(name string, axis, frequencies int, in shape) Case {
	return withInput(name, in, func(b *model.Builder, x model.Value) model.Value {
		list := []model.Value{x}
		for i := range frequencies {
			y := b.Do("Mul", x, b.Number(float32(int(1)<<i)))
			list = append(list, b.Do("Sin", y), b.Do("Cos", y))
		}
		return b.Concat(axis, list...)
	})
}
