package sweep

import (
	"fmt"

	"lathe/bench/model"
)

// product is a matrix product of an input with constant weights, m x k x n.
func product(m, k, n int, note string) Case {
	return row(fmt.Sprintf("%dx%dx%d%s", m, k, n, note), func(b *model.Builder) model.Value {
		return b.Do("MatMul", b.Input(m, k), b.Weight(0.05, k, n))
	})
}

// left is a product whose constant matrix is on the left, m x k by k x n, as convolutions of single pixels are written.
func left(m, k, n int) Case {
	return row(fmt.Sprintf("left_%dx%dx%d", m, k, n), func(b *model.Builder) model.Value {
		return b.Do("MatMul", b.Weight(0.05, m, k), b.Input(1, k, n))
	})
}

// dense is a fully connected layer with transposed weights, as PyTorch exports it.
func dense(m, k, n int) Case {
	return row(fmt.Sprintf("gemmT_%dx%dx%d", m, k, n), func(b *model.Builder) model.Value { return b.Dense(b.Input(m, k), k, n) })
}

// both is a product of two inputs, with any number of leading axes.
func both(name string, x, y shape) Case { return op(name, "MatMul", on(x, y)) }

var gemm = []Case{
	product(1, 4096, 4096, ""), product(1, 4096, 11008, ""), product(1, 768, 3072, ""), product(1, 512, 32000, "_logits"),
	product(4, 4096, 4096, ""), product(8, 1024, 1024, ""), product(16, 4096, 4096, ""), product(32, 768, 3072, ""),
	product(64, 1024, 4096, ""), product(128, 768, 768, ""), product(128, 768, 3072, ""), product(128, 3072, 768, ""),
	product(197, 768, 2304, "_vit"), product(256, 256, 256, ""), product(512, 512, 512, ""), product(512, 4096, 4096, ""),
	product(64, 4096, 4096, ""), product(256, 4096, 4096, ""), product(512, 2048, 2048, ""), product(128, 8192, 1024, ""), product(128, 5632, 2048, ""),
	product(1000, 1000, 1000, ""), product(127, 129, 131, "_odd"), product(17, 33, 65, "_odd"), product(3, 5, 7, "_tiny"),
	product(1, 1, 4096, "_outer"), product(4096, 1, 256, "_outer"), product(4096, 256, 1, "_column"),
	product(65536, 16, 16, ""), product(16, 65536, 16, "_deep"), product(24, 20000, 24, "_deep"), product(3136, 64, 64, ""),
	dense(1, 2048, 1000), dense(1, 25088, 4096), dense(1, 9216, 4096), dense(64, 512, 10), dense(28, 2216, 7), dense(32, 784, 128), dense(8, 512, 512),
	both("inputs_64x50176x64_deep", shape{64, 50176}, shape{50176, 64}),
	both("inputs_256x256x256", shape{256, 256}, shape{256, 256}),
	both("inputs_1x4096x1024", shape{1, 4096}, shape{4096, 1024}),
	both("inputs_1000x1000x1000", shape{1000, 1000}, shape{1000, 1000}),
	both("inputs_1024x1024x1024", shape{1024, 1024}, shape{1024, 1024}),
	both("inputs_8_of_512x1024x512", shape{8, 512, 1024}, shape{8, 1024, 512}),
	left(12, 1024, 1024), left(64, 256, 3136), left(256, 64, 3136), left(160, 960, 49),
	both("batch12_128x64x128", shape{1, 12, 128, 64}, shape{1, 12, 64, 128}),
	both("batch12_128x128x64", shape{1, 12, 128, 128}, shape{1, 12, 128, 64}),
	both("batch64_49x32x49_swin", shape{64, 49, 32}, shape{64, 32, 49}),
	both("batch32_1x64x500_decode", shape{32, 1, 64}, shape{32, 64, 500}),
	both("broadcast_8x100x64_64x64", shape{8, 100, 64}, shape{64, 64}),
	both("broadcast_4x1_1x6", shape{4, 1, 64, 32}, shape{1, 6, 32, 64}),
	both("vector_1000x1000", shape{1000, 1000}, shape{1000}),
	op("inputs_transB_64x512x512", "Gemm", on(shape{64, 512}, shape{512, 512}), at("transB", 1)),
	op("inputs_transB_7x736x797", "Gemm", on(shape{7, 736}, shape{797, 736}), at("transB", 1)),
	op("inputs_transA_64x512x512", "Gemm", on(shape{512, 64}, shape{512, 512}), at("transA", 1)),
	op("inputs_transAB_129x65x33", "Gemm", on(shape{65, 129}, shape{33, 65}), at("transA", 1), at("transB", 1)),
	row("gelu_ffn_128x768x3072", func(b *model.Builder) model.Value {
		return b.Linear(b.GELU(b.Linear(b.Input(1, 128, 768), 768, 3072)), 3072, 768)
	}),
	row("swiglu_1x1024x2816", func(b *model.Builder) model.Value {
		x := b.Input(1, 1024)
		gate, value := b.Do("MatMul", x, b.Weight(0.03, 1024, 2816)), b.Do("MatMul", x, b.Weight(0.03, 1024, 2816))
		return b.Do("MatMul", b.Do("Mul", b.SiLU(gate), value), b.Weight(0.03, 2816, 1024))
	}),
	row("mlp_64x13x512x256x1_ctr", func(b *model.Builder) model.Value {
		x := b.Do("Relu", b.Dense(b.Input(64, 13), 13, 512))
		return b.Do("Sigmoid", b.Dense(b.Do("Relu", b.Dense(x, 512, 256)), 256, 1))
	}),
}

// sum is an Einsum of two inputs, or of one.
func sum(name, equation string, shapes ...shape) Case {
	return op(name, "Einsum", shapes, at("equation", equation))
}

var einsum = []Case{
	sum("trace_like", "bii->bi", shape{32, 64, 64}),
	sum("maskformer_bqc_bchw", "bqc,bchw->bqhw", shape{1, 100, 256}, shape{1, 256, 56, 56}),
	sum("gram_180x15x15", "bid,bjd->bij", shape{180, 15, 15}, shape{180, 15, 15}),
	sum("gram_64x12x64", "bid,bjd->bij", shape{64, 12, 64}, shape{64, 12, 64}),
	sum("heads_bhqd_bhkd", "bhqd,bhkd->bhqk", shape{1, 8, 128, 64}, shape{1, 8, 128, 64}),
	sum("heads_bqhd_bkhd", "bqhd,bkhd->bhqk", shape{1, 128, 8, 64}, shape{1, 128, 8, 64}),
	sum("values_bhqk_bkhd", "bhqk,bkhd->bqhd", shape{1, 8, 128, 128}, shape{1, 128, 8, 64}),
	sum("outer_i_j", "i,j->ij", shape{1000}, shape{1000}),
	sum("rows_bij_bj", "bij,bj->bi", shape{16, 128, 256}, shape{16, 256}),
	sum("relative_swin_rpe", "bhic,ijc->bhij", shape{4, 6, 49, 32}, shape{49, 49, 32}),
	sum("transpose_bchw", "bchw->bhwc", shape{1, 64, 56, 56}),
	sum("reduce_bij", "bij->b", shape{16, 128, 128}),
}

// heads is softmax(q·kᵀ / √d) · v on inputs, with a mask of additions where masked.
func heads(name string, count, queries, keys, size int, masked bool) Case {
	return row(name, func(b *model.Builder) model.Value {
		q, k, v := b.Input(1, count, queries, size), b.Input(1, count, keys, size), b.Input(1, count, keys, size)
		mask := model.Absent
		if masked {
			mask = b.Input(1, 1, queries, keys)
		}
		return b.Core(q, b.Transpose(k, 0, 1, 3, 2), v, size, mask)
	})
}

// layer is self-attention with its products.
func layer(name string, rows, count, size int) Case {
	return row(name, func(b *model.Builder) model.Value {
		return b.Attention(b.Input(1, rows, count*size), rows, count, size, model.Absent)
	})
}

var attention = []Case{
	heads("h12_128x128x64_bert", 12, 128, 128, 64, false),
	heads("h12_128x128x64_bert_mask", 12, 128, 128, 64, true),
	heads("h12_197x197x64_vit", 12, 197, 197, 64, false),
	heads("h8_512x512x64", 8, 512, 512, 64, true),
	heads("h4_1024x1024x32", 4, 1024, 1024, 32, false),
	heads("h1_4096x4096x40_diffusion", 1, 4096, 4096, 40, false),
	heads("h8_1024x77x40_cross", 8, 1024, 77, 40, false),
	heads("h32_1x512x128_decode", 32, 1, 512, 128, true),
	heads("h12_1x64x64_decode", 12, 1, 64, 64, true),
	heads("h3_49x49x32_swin", 3, 49, 49, 32, true),
	heads("h6_17x17x11_odd", 6, 17, 17, 11, false),
	layer("layer_128_h12_bert", 128, 12, 64),
	layer("layer_197_h3_deit", 197, 3, 64),
	layer("layer_16_h4", 16, 4, 32),
}
