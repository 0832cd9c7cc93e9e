package sweep

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// within is a function of one input of numbers between two bounds.
func within(name, operator string, low, high float64) Case {
	return row(name, func(b *model.Builder) model.Value {
		return b.Do(operator, b.InputOf(b.Uniform(low, high, 1, 64, 56, 56)))
	})
}

// ms is an operator of ONNX Runtime's own domain on inputs of the given shapes.
func ms(name, operator string, shapes []shape, attrs ...model.Attr) Case {
	return row(name, func(b *model.Builder) model.Value { return b.Microsoft(operator, inputs(b, shapes), attrs...) })
}

// logic is an operator of truth values, whose results are made numbers.
func logic(name, operator string, x, y shape) Case {
	return row(name, func(b *model.Builder) model.Value {
		return b.Op("Cast", []model.Value{b.Do(operator, b.InputOf(b.Bools(3, x...)), b.InputOf(b.Bools(2, y...)))}, at("to", 1))
	})
}

// whole is an operator of int64.
func whole(name, operator string, high int, in shape, y ...int) Case {
	return Case{name, func(b *model.Builder) { b.OutputOf(types.I64, b.Do(operator, b.Indices(high, in...), b.Ints(y...))) }}
}

// rare are operators that few networks have, and types of elements that few layers do.
var rare = []Case{
	onMap("ceil_64_56", "Ceil"), onMap("sign_64_56", "Sign"), onMap("softsign_64_56", "Softsign"), onMap("celu_64_56", "Celu"), onMap("tan_64_56", "Tan"),
	onMap("sinh_64_56", "Sinh"), onMap("cosh_64_56", "Cosh"), onMap("asinh_64_56", "Asinh"), onMap("neg_64_56", "Neg"),
	onMap("thresholded_64_56", "ThresholdedRelu", at("alpha", 0.5)), onMap("shrink_64_56", "Shrink", at("lambd", 0.5), at("bias", 0.1)),
	within("asin_64_56", "Asin", -1, 1), within("acos_64_56", "Acos", -1, 1), within("atanh_64_56", "Atanh", -0.9, 0.9), within("acosh_64_56", "Acosh", 1, 4),
	onMap("hardmax_64_56", "Hardmax"), onMap("global_lp_64_56", "GlobalLpPool"), onMap("mvn_64_56", "MeanVarianceNormalization", at("axes", []int{2, 3})),
	row("isnan_64_56", func(b *model.Builder) model.Value {
		return b.Op("Cast", []model.Value{b.Do("IsNaN", b.Input(1, 64, 56, 56))}, at("to", 1))
	}),
	logic("and_1024x1024", "And", shape{1024, 1024}, shape{1024, 1024}), logic("or_mask_128x128", "Or", shape{8, 1, 1, 128}, shape{1, 1, 128, 128}), logic("xor_1024x1024", "Xor", shape{1024, 1024}, shape{1024}),
	whole("add_i64_512x512", "Add", 1000, shape{512, 512}, 3), whole("mul_i64_512x512", "Mul", 1000, shape{512, 512}, 3), whole("div_i64_512x512", "Div", 1000, shape{512, 512}, 7),
	whole("max_i64_512x512", "Max", 1000, shape{512, 512}, 500),
	row("equal_i64_64x512", func(b *model.Builder) model.Value {
		return b.Op("Cast", []model.Value{b.Do("Equal", b.Indices(50, 64, 512, 1), b.Indices(50, 64, 1, 64))}, at("to", 1))
	}),
	row("causal_mask_512", func(b *model.Builder) model.Value {
		x := b.Input(1, 8, 512, 512)
		rows := b.Do("Range", b.Constant(tensor.Scalar[int64](0)), b.Constant(tensor.Scalar[int64](512)), b.Constant(tensor.Scalar[int64](1)))
		mask := b.Do("LessOrEqual", b.Do("Unsqueeze", rows, b.Ints(0)), b.Do("Unsqueeze", rows, b.Ints(1)))
		return b.Do("Where", mask, x, b.Number(-1e9))
	}),
	row("length_mask_16x256", func(b *model.Builder) model.Value {
		x, lengths := b.Input(16, 256, 64), b.Indices(256, 16, 1)
		steps := b.Do("Range", b.Constant(tensor.Scalar[int64](0)), b.Constant(tensor.Scalar[int64](256)), b.Constant(tensor.Scalar[int64](1)))
		mask := b.Op("Cast", []model.Value{b.Do("Less", steps, lengths)}, at("to", 1))
		return b.Do("Mul", x, b.Do("Unsqueeze", mask, b.Ints(2)))
	}),
	Case{"sum_i64_512x1000", func(b *model.Builder) {
		b.OutputOf(types.I64, b.Op("ReduceSum", []model.Value{b.Indices(1000, 512, 1000), b.Ints(1)}, at("keepdims", 0)))
	}},
	Case{"max_i32_512x1000", func(b *model.Builder) {
		x := b.Op("Cast", []model.Value{b.Indices(1000, 512, 1000)}, at("to", 6))
		b.OutputOf(types.I32, b.Op("ReduceMax", []model.Value{x}, at("axes", []int{1}), at("keepdims", 0)))
	}},
	Case{"cast_f64_matmul_128", func(b *model.Builder) {
		x, y := b.Op("Cast", []model.Value{b.Input(128, 128)}, at("to", 11)), b.Op("Cast", []model.Value{b.Input(128, 128)}, at("to", 11))
		b.Output(b.Op("Cast", []model.Value{b.Do("MatMul", x, y)}, at("to", 1)))
	}},
	Case{"matmul_i32_128", func(b *model.Builder) {
		x, y := b.Op("Cast", []model.Value{b.Indices(100, 128, 128)}, at("to", 6)), b.Op("Cast", []model.Value{b.Indices(100, 128, 128)}, at("to", 6))
		b.OutputOf(types.I32, b.Do("MatMul", x, y))
	}},
	op("sum_4_64_56", "Sum", on(image(64, 56), image(64, 56), image(64, 56), image(64, 56))),
	op("mean_3_64_56", "Mean", on(image(64, 56), image(64, 56), image(64, 56))),
	op("det_1000x3x3", "Det", on(shape{1000, 3, 3})),
	row("dft_64x512", func(b *model.Builder) model.Value {
		return b.Op("DFT", []model.Value{b.Input(64, 512, 1)}, at("axis", 1), at("onesided", 1))
	}),
	row("stft_16000_400", func(b *model.Builder) model.Value {
		return b.Do("STFT", b.Input(1, 16000, 1), b.Constant(tensor.Scalar[int64](160)), b.Constant(b.Uniform(0, 1, 400)))
	}),
	row("unpool_64_28", func(b *model.Builder) model.Value {
		out := b.Ops("MaxPool", 2, []model.Value{b.Input(1, 64, 56, 56)}, plain(2, 2).Attrs()...)
		return b.Op("MaxUnpool", out, plain(2, 2).Attrs()...)
	}),
	row("roi_pool_256_50_100x7", func(b *model.Builder) model.Value {
		low := b.InputOf(b.Uniform(0, 400, 100, 2))
		rois := b.Concat(1, b.Constant(b.Uniform(0, 0, 100, 1)), low, b.Do("Add", low, b.InputOf(b.Uniform(50, 400, 100, 2))))
		return b.Op("MaxRoiPool", []model.Value{b.Input(1, 256, 50, 50), rois}, at("pooled_shape", []int{7, 7}), at("spatial_scale", 0.0625))
	}),
	row("reverse_sequence_128x32x256", func(b *model.Builder) model.Value {
		return b.Op("ReverseSequence", []model.Value{b.Input(128, 32, 256), b.Indices(128, 32)}, at("time_axis", 0), at("batch_axis", 1))
	}),
	row("normalised_64x512", func(b *model.Builder) model.Value {
		return b.Op("LpNormalization", []model.Value{b.Input(64, 512)}, at("axis", -1), at("p", 2))
	}),
	row("cosine_512x512x64", func(b *model.Builder) model.Value {
		x, y := b.Input(512, 64), b.Input(512, 64)
		unit := func(x model.Value) model.Value {
			return b.Do("Div", x, b.Op("ReduceL2", []model.Value{x}, at("axes", []int{1}), at("keepdims", 1)))
		}
		return b.Do("MatMul", unit(x), b.Transpose(unit(y), 1, 0))
	}),
	row("logsumexp_512x1000", func(b *model.Builder) model.Value {
		return b.Op("ReduceLogSumExp", []model.Value{b.Input(512, 1000)}, at("axes", []int{1}), at("keepdims", 0))
	}),
	row("prod_64x16x100", func(b *model.Builder) model.Value {
		return b.Op("ReduceProd", []model.Value{b.Input(64, 16, 100)}, at("axes", []int{1}), at("keepdims", 0))
	}),
	row("embed_onehot_64x1000x64", func(b *model.Builder) model.Value {
		hot := b.Op("OneHot", []model.Value{b.Indices(1000, 64), b.Ints(1000), b.Constant(b.Uniform(0, 1, 2))}, at("axis", -1))
		return b.Do("MatMul", hot, b.Weight(1, 1000, 64))
	}),
	ms("ms_gelu_128x3072", "Gelu", on(shape{1, 128, 3072})), ms("ms_fast_gelu_128x3072", "FastGelu", on(shape{1, 128, 3072})), ms("ms_quick_gelu_128x3072", "QuickGelu", on(shape{1, 128, 3072})),
	ms("ms_bias_gelu_128x3072", "BiasGelu", on(shape{1, 128, 3072}, shape{3072})),
	ms("ms_skip_norm_128x768", "SkipLayerNormalization", on(shape{1, 128, 768}, shape{1, 128, 768}, shape{768}, shape{768}, shape{768})),
	ms("ms_skip_rms_128x768", "SkipSimplifiedLayerNormalization", on(shape{1, 128, 768}, shape{1, 128, 768}, shape{768})),
	ms("ms_matmul_scaled_8x128x64", "FusedMatMul", on(shape{8, 128, 64}, shape{8, 128, 64}), at("transB", 1), at("alpha", 0.125)),
	op("fmod_512x512", "Mod", on(shape{512, 512}, shape{512, 512}), at("fmod", 1)),
	op("einsum_trace_64x64x64", "Einsum", on(shape{64, 64, 64}), at("equation", "bii->b")),
	op("space_to_depth_16_128", "SpaceToDepth", on(image(16, 128)), at("blocksize", 2)),
	op("depth_to_space_64_64", "DepthToSpace", on(image(64, 64)), at("blocksize", 2), at("mode", "CRD")),
	op("instance_norm_1d_64x4000", "InstanceNormalization", on(shape{1, 64, 4000}, shape{64}, shape{64})),
	op("lrn_96_27", "LRN", on(image(96, 27)), at("size", 5)),
}
