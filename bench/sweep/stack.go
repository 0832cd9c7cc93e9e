package sweep

import "lathe/bench/model"

// experts are products of an input with a constant stack of matrices, as mixtures of experts, layers of a head each and hypernetworks have.
func experts(name string, in shape, w shape) Case {
	return row(name, func(b *model.Builder) model.Value { return b.Do("MatMul", b.Input(in...), b.Weight(0.03, w...)) })
}

// stack are products with constant stacks of matrices, in every type.
var stack = []Case{
	experts("8_of_64x512x1024", shape{8, 64, 512}, shape{8, 512, 1024}), experts("8_of_1x512x2048", shape{8, 1, 512}, shape{8, 512, 2048}), experts("5_of_17x33x65_odd", shape{5, 17, 33}, shape{5, 33, 65}),
	experts("16_of_one_32x256x384", shape{1, 32, 256}, shape{16, 256, 384}), experts("12_of_128x64x64_heads", shape{12, 128, 64}, shape{12, 64, 64}), experts("8_of_16x128x128_batch4", shape{4, 8, 16, 128}, shape{1, 8, 128, 128}),
	experts("8_of_64x512x6", shape{8, 64, 512}, shape{8, 512, 6}), experts("64_of_16x128x1", shape{64, 16, 128}, shape{64, 128, 1}), experts("64_of_4x1x128", shape{64, 4, 1}, shape{64, 1, 128}),
	row("by_einsum", func(b *model.Builder) model.Value {
		return b.Op("Einsum", []model.Value{b.Input(64, 256), b.Weight(0.03, 8, 256, 320)}, model.Attr{Name: "equation", Value: "sd,edh->seh"})
	}),
	row("swiglu_experts", func(b *model.Builder) model.Value {
		x := b.Input(4, 32, 256)
		gate, value := b.Do("MatMul", x, b.Weight(0.03, 4, 256, 688)), b.Do("MatMul", x, b.Weight(0.03, 4, 256, 688))
		return b.Do("MatMul", b.Do("Mul", b.SiLU(gate), value), b.Weight(0.03, 4, 688, 256))
	}),
	row("weight_only", func(b *model.Builder) model.Value {
		return b.Do("MatMul", b.Input(8, 32, 512), b.Bytes8(-1, 0.001, 8, 512, 1024))
	}),
	half("half", shape{8, 32, 256}, func(b *model.Builder, x model.Value) model.Value {
		return b.Do("MatMul", x, b.Constant(b.Half(0.05, 8, 256, 384)))
	}),
}
