package sweep

import (
	"lathe/bench/model"
	"lathe/internal/types"
)

// onMap is a function of one input, a map of 64x56x56.
func onMap(name, operator string, attrs ...model.Attr) Case {
	return op(name, operator, on(image(64, 56)), attrs...)
}

// positive is onMap on numbers above 0.
func positive(name, operator string) Case {
	return row(name, func(b *model.Builder) model.Value {
		return b.Do(operator, b.InputOf(b.Uniform(0.1, 4, 1, 64, 56, 56)))
	})
}

var act = []Case{
	onMap("relu_64_56", "Relu"), onMap("leaky_64_56", "LeakyRelu"), onMap("sigmoid_64_56", "Sigmoid"), onMap("tanh_64_56", "Tanh"),
	onMap("exp_64_56", "Exp"), onMap("erf_64_56", "Erf"), onMap("elu_64_56", "Elu"), onMap("selu_64_56", "Selu"),
	onMap("softplus_64_56", "Softplus"), onMap("hardswish_64_56", "HardSwish"), onMap("hardsigmoid_64_56", "HardSigmoid"),
	onMap("sin_64_56", "Sin"), onMap("cos_64_56", "Cos"), onMap("atan_64_56", "Atan"), onMap("abs_64_56", "Abs"), onMap("round_64_56", "Round"), onMap("floor_64_56", "Floor"),
	positive("log_64_56", "Log"), positive("sqrt_64_56", "Sqrt"), positive("reciprocal_64_56", "Reciprocal"),
	withInput("gelu_128x3072", shape{1, 128, 3072}, gelu),
	withInput("silu_64_80", image(64, 80), silu),
	withInput("mish_64_76", image(64, 76), mish),
	withInput("prelu_64_56", image(64, 56), prelu),
	withInput("gelu_tanh_128x3072", shape{1, 128, 3072}, func(b *model.Builder, x model.Value) model.Value {
		cube := b.Do("Mul", b.Do("Pow", x, b.Number(3)), b.Number(0.044715))
		t := b.Do("Tanh", b.Do("Mul", b.Do("Add", x, cube), b.Number(0.7978846)))
		return b.Do("Mul", b.Do("Mul", x, b.Do("Add", t, b.Number(1))), b.Number(0.5))
	}),
	withInput("relu_17_tiny", shape{17}, unary("Relu")),
	withInput("tanh_1x256_tiny", shape{1, 256}, unary("Tanh")),
}

// pair is an operator of two inputs.
func pair(name, operator string, x, y shape) Case { return op(name, operator, on(x, y)) }

var elementwise = []Case{
	pair("add_same_64_56", "Add", image(64, 56), image(64, 56)),
	pair("add_1M", "Add", shape{1024, 1024}, shape{1024, 1024}),
	pair("add_17_tiny", "Add", shape{17}, shape{17}),
	pair("mul_channel_64_56", "Mul", image(64, 56), shape{64, 1, 1}),
	pair("mul_row_512x768", "Mul", shape{512, 768}, shape{768}),
	pair("mul_column_512x768", "Mul", shape{512, 768}, shape{512, 1}),
	pair("mul_outer_1000x1000", "Mul", shape{1000, 1}, shape{1, 1000}),
	pair("mul_se_240_28", "Mul", image(240, 28), image(240, 1)),
	pair("mul_spatial_64_56", "Mul", image(64, 56), image(1, 56)),
	pair("sub_middle_8x33x50", "Sub", shape{8, 33, 50}, shape{8, 1, 50}),
	pair("div_512x512", "Div", shape{512, 512}, shape{512, 512}),
	pair("max_512x512", "Max", shape{512, 512}, shape{512, 512}),
	pair("min_broadcast_512x512", "Min", shape{512, 512}, shape{1}),
	row("pow2_64_56", func(b *model.Builder) model.Value { return b.Do("Pow", b.Input(1, 64, 56, 56), b.Number(2)) }),
	row("pow_512x512", func(b *model.Builder) model.Value {
		return b.Do("Pow", b.InputOf(b.Uniform(0.1, 4, 512, 512)), b.Input(512, 512))
	}),
	row("clip_64_56", func(b *model.Builder) model.Value { return relu6(b, b.Input(1, 64, 56, 56)) }),
	row("where_12x128x128", func(b *model.Builder) model.Value {
		return b.Do("Where", b.InputOf(b.Bools(8, 1, 1, 128, 128)), b.Input(1, 12, 128, 128), b.Number(-1e9))
	}),
	row("less_cast_512x512", func(b *model.Builder) model.Value {
		return b.Op("Cast", []model.Value{b.Do("Less", b.Input(512, 512), b.Input(512, 512))}, at("to", 1))
	}),
	row("cast_u8_f32_3_224", func(b *model.Builder) model.Value {
		x := b.Op("Cast", []model.Value{b.InputOf(b.Bytes(types.U8, 1, 3, 224, 224))}, at("to", 1))
		return b.Do("Div", b.Do("Sub", x, b.Weight(1, 3, 1, 1)), b.Scale(3, 1, 1))
	}),
	castTo("i32", types.I32, 6), castTo("i64", types.I64, 7), castTo("u8", types.U8, 2),
	row("chain10_64_56", func(b *model.Builder) model.Value {
		x := b.Input(1, 64, 56, 56)
		for range 5 {
			x = b.Do("Mul", b.Do("Add", x, b.Weight(0.1, 64, 1, 1)), b.Scale(64, 1, 1))
		}
		return x
	}),
	row("rotary_32x128x64", func(b *model.Builder) model.Value {
		x, cos, sin := b.Input(1, 32, 128, 64), b.Weight(1, 1, 1, 128, 64), b.Weight(1, 1, 1, 128, 64)
		turned := b.Concat(3, b.Do("Neg", b.Slice(x, 3, 32, 64, 1)), b.Slice(x, 3, 0, 32, 1))
		return b.Do("Add", b.Do("Mul", x, cos), b.Do("Mul", turned, sin))
	}),
	row("integers_mod_100000", func(b *model.Builder) model.Value {
		return b.Op("Cast", []model.Value{b.Do("Mod", b.Indices(1<<20, 100000), b.Ints(37))}, at("to", 1))
	}),
}

// castTo is a cast of float32 to integers, by ONNX's number of their type.
func castTo(name string, t types.DType, number int) Case {
	return Case{"cast_f32_" + name + "_3_224", func(b *model.Builder) {
		b.OutputOf(t, b.Op("Cast", []model.Value{b.InputOf(b.Uniform(0, 255, 1, 3, 224, 224))}, at("to", number)))
	}}
}
