package sweep

import "lathe/bench/model"

// soft is a softmax along an axis.
func soft(name string, in shape, axis int) Case {
	return op(name, "Softmax", on(in), at("axis", axis))
}

var softmax = []Case{
	soft("last_1x1000", shape{1, 1000}, -1),
	soft("last_64x10", shape{64, 10}, -1),
	soft("last_12x128x128", shape{1, 12, 128, 128}, -1),
	soft("last_12x197x197_odd", shape{1, 12, 197, 197}, -1),
	soft("last_8732x81_ssd", shape{8732, 81}, -1),
	soft("last_17x50257", shape{17, 50257}, -1),
	soft("last_100000x3", shape{100000, 3}, -1),
	soft("axis0_512x300", shape{512, 300}, 0),
	soft("axis0_1000x1", shape{1000, 1}, 0),
	soft("axis1_19_512x256", shape{1, 19, 512, 256}, 1),
	soft("axis1_21_65x65", shape{1, 21, 65, 65}, 1),
	soft("axis1_4x16_2100_dfl", shape{1, 16, 4, 2100}, 1),
	soft("axis2_8x7x33x50", shape{8, 7, 33, 50}, 2),
	then("lines_behind_1x1_64_144_36", image(64, 36), 144, sq(1), unary("Softmax", at("axis", 3))),
	then("columns_behind_1x1_64_144_36", image(64, 36), 144, sq(1), unary("Softmax", at("axis", 2))),
	op("log_17x50257", "LogSoftmax", on(shape{17, 50257}), at("axis", -1)),
	op("log_axis1_35x1000x8", "LogSoftmax", on(shape{35, 1000, 8}), at("axis", 1)),
}

func instanceNorm(b *model.Builder, x model.Value, channels int) model.Value {
	return b.Op("InstanceNormalization", []model.Value{x, b.Scale(channels), b.Weight(0.1, channels)})
}

// normalised is a normalisation of an input.
func normalised(name string, in shape, f func(b *model.Builder, x model.Value) model.Value) Case {
	return row(name, func(b *model.Builder) model.Value { return f(b, b.Input(in...)) })
}

func layerNorm(size int) func(b *model.Builder, x model.Value) model.Value {
	return func(b *model.Builder, x model.Value) model.Value { return b.LayerNorm(x, size) }
}

// groupNorm is what exporters of opset 17 write.
func groupNorm(groups, channels, size int) func(b *model.Builder, x model.Value) model.Value {
	return func(b *model.Builder, x model.Value) model.Value {
		y := b.Reshape(x, 0, groups, -1)
		y = b.Op("InstanceNormalization", []model.Value{y, b.Constant(b.Uniform(1, 1, groups)), b.Constant(b.Uniform(0, 0, groups))})
		y = b.Do("Mul", b.Reshape(y, 1, channels, size, size), b.Scale(channels, 1, 1))
		return b.Do("Add", y, b.Weight(0.1, channels, 1, 1))
	}
}

// rmsNorm is that of language models.
func rmsNorm(size int) func(b *model.Builder, x model.Value) model.Value {
	return func(b *model.Builder, x model.Value) model.Value {
		mean := b.Op("ReduceMean", []model.Value{b.Do("Pow", x, b.Number(2))}, at("axes", []int{-1}))
		return b.Do("Mul", b.Do("Div", x, b.Do("Sqrt", b.Do("Add", mean, b.Number(1e-6)))), b.Scale(size))
	}
}

var norm = []Case{
	normalised("layer_128x768", shape{1, 128, 768}, layerNorm(768)),
	normalised("layer_197x192", shape{1, 197, 192}, layerNorm(192)),
	normalised("layer_3136x96", shape{1, 3136, 96}, layerNorm(96)),
	normalised("layer_1x4096", shape{1, 4096}, layerNorm(4096)),
	normalised("layer_33x77_odd", shape{33, 77}, layerNorm(77)),
	normalised("rms_1x4096", shape{1, 4096}, rmsNorm(4096)),
	normalised("rms_128x2048", shape{128, 2048}, rmsNorm(2048)),
	normalised("batch_64_56", image(64, 56), func(b *model.Builder, x model.Value) model.Value { return b.BatchNorm(x, 64) }),
	normalised("batch_relu_256_28", image(256, 28), func(b *model.Builder, x model.Value) model.Value { return b.Do("Relu", b.BatchNorm(x, 256)) }),
	normalised("instance_64_128", image(64, 128), func(b *model.Builder, x model.Value) model.Value { return instanceNorm(b, x, 64) }),
	normalised("instance_37_29_odd", image(37, 29), func(b *model.Builder, x model.Value) model.Value { return instanceNorm(b, x, 37) }),
	normalised("instance_b8_32_16", shape{8, 32, 16, 16}, func(b *model.Builder, x model.Value) model.Value { return instanceNorm(b, x, 32) }),
	normalised("group32_320_64_diffusion", image(320, 64), groupNorm(32, 320, 64)),
	normalised("group8_64_32", image(64, 32), groupNorm(8, 64, 32)),
	op("l2_last_256x128", "LpNormalization", on(shape{256, 128}), at("axis", -1), at("p", 2)),
	op("lrn5_96_27_alexnet", "LRN", on(image(96, 27)), at("size", 5), at("alpha", 1e-4), at("beta", 0.75)),
}

// over is a reduction along axes, which the result does not keep.
func over(name, operator string, in shape, axes ...int) Case {
	if operator == "ReduceSum" {
		return row(name, func(b *model.Builder) model.Value {
			return b.Op("ReduceSum", []model.Value{b.Input(in...), b.Ints(axes...)}, at("keepdims", 0))
		})
	}
	return op(name, operator, on(in), at("axes", axes), at("keepdims", 0))
}

var reduce = []Case{
	op("l1_all", "ReduceL1", on(shape{64, 1000})),
	op("sum_all_1M", "ReduceSum", on(shape{1024, 1024})),
	op("mean_all_3x224x224", "ReduceMean", on(image(3, 224))),
	over("sum_last_1000x1000", "ReduceSum", shape{1000, 1000}, 1),
	over("sum_first_1000x1000", "ReduceSum", shape{1000, 1000}, 0),
	over("sum_last_100000x3", "ReduceSum", shape{100000, 3}, 1),
	over("mean_hw_1280_7", "ReduceMean", image(1280, 7), 2, 3),
	over("mean_hw_64_112", "ReduceMean", image(64, 112), 2, 3),
	over("mean_tokens_197x768", "ReduceMean", shape{1, 197, 768}, 1),
	over("mean_last_3x5x7_tiny", "ReduceMean", shape{3, 5, 7}, 2),
	over("max_mid_64x1024x128", "ReduceMax", shape{64, 1024, 128}, 1),
	over("max_023_bn", "ReduceMax", shape{8, 64, 28, 28}, 0, 2, 3),
	over("max_channels_64_56", "ReduceMax", image(64, 56), 1),
	over("min_last_33x1001_odd", "ReduceMin", shape{33, 1001}, 1),
	over("prod_last_64x100", "ReduceProd", shape{64, 100}, 1),
	over("l2_last_512x256", "ReduceL2", shape{512, 256}, 1),
	over("sumsquare_axis0_512x256", "ReduceSumSquare", shape{512, 256}, 0),
	over("logsumexp_last_64x1000", "ReduceLogSumExp", shape{64, 1000}, 1),
	op("globalavg_2048_7", "GlobalAveragePool", on(image(2048, 7))),
	op("globalmax_512_14", "GlobalMaxPool", on(image(512, 14))),
	row("variance_hw_64_56", func(b *model.Builder) model.Value {
		x := b.Input(1, 64, 56, 56)
		d := b.Do("Sub", x, b.Op("ReduceMean", []model.Value{x}, at("axes", []int{2, 3})))
		return b.Op("ReduceMean", []model.Value{b.Do("Mul", d, d)}, at("axes", []int{2, 3}))
	}),
}
