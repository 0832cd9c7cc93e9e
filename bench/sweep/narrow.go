package sweep

import "lathe/bench/model"

// narrow are operators on rows of a few elements, and lines of which few lie side by side: points, boxes, colours.
var narrow = []Case{
	row("colours_224", func(b *model.Builder) model.Value {
		return b.Do("Div", b.Do("Sub", b.Input(1, 224, 224, 3), b.Weight(1, 3)), b.Scale(3))
	}),
	row("tanh_50000x3", func(b *model.Builder) model.Value {
		return b.Do("Tanh", b.Do("Add", b.Input(50000, 3), b.Weight(1, 3)))
	}),
	row("tanh_10000x5", func(b *model.Builder) model.Value {
		return b.Do("Tanh", b.Do("Add", b.Input(10000, 5), b.Weight(1, 5)))
	}),
	row("exp_8400x4", func(b *model.Builder) model.Value {
		return b.Do("Mul", b.Do("Exp", b.Do("Mul", b.Input(8400, 4), b.Number(0.1))), b.Input(8400, 4))
	}),
	row("boxes_8400x4", func(b *model.Builder) model.Value {
		return b.Do("Mul", b.Do("Sigmoid", b.Input(1, 8400, 4)), b.Input(1, 8400, 1))
	}),
	row("tanh_10000x10", func(b *model.Builder) model.Value {
		return b.Do("Tanh", b.Do("Add", b.Input(10000, 10), b.Weight(1, 10)))
	}),
	row("tanh_10000x17", func(b *model.Builder) model.Value {
		return b.Do("Tanh", b.Do("Add", b.Input(10000, 17), b.Weight(1, 17)))
	}),
	row("pad_gelu_56x2x5", func(b *model.Builder) model.Value {
		return b.Do("Pad", gelu(b, b.Input(64, 56, 2, 5)), b.Ints(0, 0, 1, 1, 0, 0, 1, 1))
	}),
	row("pad_pow_400x56x2", func(b *model.Builder) model.Value {
		return b.Op("Pad", []model.Value{b.Do("Pow", b.Do("Abs", b.Input(400, 56, 2)), b.Number(0.7)), b.Ints(0, 0, 1, 0, 0, 1)}, at("mode", "reflect"))
	}),
	row("exp_2of85", func(b *model.Builder) model.Value { return b.Do("Exp", b.Slice(b.Input(8400, 85), 1, 2, 4, 1)) }),
	row("sigmoid_1of85", func(b *model.Builder) model.Value { return b.Do("Sigmoid", b.Slice(b.Input(8400, 85), 1, 4, 5, 1)) }),
	row("yolo_8400x85", func(b *model.Builder) model.Value {
		x := b.Input(1, 8400, 85)
		p := b.Split(x, 2, 2, 2, 81)
		return b.Concat(2, b.Do("Mul", b.Do("Add", p[0], b.Input(1, 8400, 2)), b.Input(1, 8400, 1)), b.Do("Mul", b.Do("Exp", p[1]), b.Input(1, 8400, 1)), b.Do("Sigmoid", p[2]))
	}),
	row("tanh_transpose_3x20000", func(b *model.Builder) model.Value { return b.Transpose(b.Do("Tanh", b.Input(3, 20000)), 1, 0) }),
	row("transpose_tanh_20000x3", func(b *model.Builder) model.Value { return b.Do("Tanh", b.Transpose(b.Input(20000, 3), 1, 0)) }),
	row("transpose_66x2x384", func(b *model.Builder) model.Value { return b.Transpose(b.Input(66, 2, 384), 0, 2, 1) }),
	row("transpose_2x66x384", func(b *model.Builder) model.Value { return b.Transpose(b.Input(2, 66, 384), 1, 2, 0) }),
	row("transpose_66x5x384", func(b *model.Builder) model.Value { return b.Transpose(b.Input(66, 5, 384), 0, 2, 1) }),
	row("softmax_66x384x2_axis1", func(b *model.Builder) model.Value {
		return b.Op("Softmax", []model.Value{b.Input(66, 384, 2)}, at("axis", 1))
	}),
	row("softmax_66x384x5_axis1", func(b *model.Builder) model.Value {
		return b.Op("Softmax", []model.Value{b.Input(66, 384, 5)}, at("axis", 1))
	}),
	row("softmax_20000x2", func(b *model.Builder) model.Value {
		return b.Op("Softmax", []model.Value{b.Input(20000, 2)}, at("axis", 1))
	}),
	row("softmax_20000x5", func(b *model.Builder) model.Value {
		return b.Op("Softmax", []model.Value{b.Input(20000, 5)}, at("axis", 1))
	}),
	row("l2_20000x3", func(b *model.Builder) model.Value {
		x := b.Input(20000, 3)
		return b.Do("Div", x, b.Op("ReduceL2", []model.Value{x}, at("axes", []int{1}), at("keepdims", 1)))
	}),
	row("sum_20000x3", func(b *model.Builder) model.Value {
		return b.Op("ReduceSum", []model.Value{b.Input(20000, 3), b.Ints(1)}, at("keepdims", 0))
	}),
	row("max_20000x4", func(b *model.Builder) model.Value {
		return b.Op("ReduceMax", []model.Value{b.Input(20000, 4)}, at("axes", []int{1}), at("keepdims", 0))
	}),
	row("points_by_3x3", func(b *model.Builder) model.Value { return b.Do("MatMul", b.Input(20000, 3), b.Input(3, 3)) }),
	row("matmul_5000x3x3", func(b *model.Builder) model.Value { return b.Do("MatMul", b.Input(5000, 3, 3), b.Input(5000, 3, 3)) }),
	row("matmul_5000x4x4x1", func(b *model.Builder) model.Value { return b.Do("MatMul", b.Input(5000, 4, 4), b.Input(5000, 4, 1)) }),
	row("layernorm_5000x10", func(b *model.Builder) model.Value { return b.LayerNorm(b.Input(5000, 10), 10) }),
	row("layernorm_5000x24", func(b *model.Builder) model.Value { return b.LayerNorm(b.Input(5000, 24), 24) }),
	row("cumsum_5000x3", func(b *model.Builder) model.Value {
		return b.Do("CumSum", b.Input(5000, 3), b.Do("Squeeze", b.Ints(0)))
	}),
	row("argmax_20000x3", func(b *model.Builder) model.Value {
		return b.Op("Cast", []model.Value{b.Op("ArgMax", []model.Value{b.Input(20000, 3)}, at("axis", 1), at("keepdims", 0))}, at("to", 1))
	}),
	row("where_20000x3", func(b *model.Builder) model.Value {
		return b.Do("Where", b.Do("Greater", b.Input(20000, 1), b.Number(0)), b.Input(20000, 3), b.Input(1, 3))
	}),
	row("cross_20000x3", func(b *model.Builder) model.Value {
		x, y := b.Input(20000, 3), b.Input(20000, 3)
		idx := func(v model.Value, i int) model.Value { return b.Slice(v, 1, i, i+1, 1) }
		c := func(i, j int) model.Value {
			return b.Do("Sub", b.Do("Mul", idx(x, i), idx(y, j)), b.Do("Mul", idx(x, j), idx(y, i)))
		}
		return b.Concat(1, c(1, 2), c(2, 0), c(0, 1))
	}),
}
