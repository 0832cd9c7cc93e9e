package sweep

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// topK gives the k greatest with their places.
func topK(name string, in shape, axis, k int) Case {
	return Case{name, func(b *model.Builder) {
		out := b.Ops("TopK", 2, []model.Value{b.Input(in...), b.Ints(k)}, at("axis", axis))
		b.Output(out[0])
		b.OutputOf(types.I64, out[1])
	}}
}

// place is ArgMax or ArgMin.
func place(name, operator string, in shape, axis int) Case {
	return Case{name, func(b *model.Builder) {
		b.OutputOf(types.I64, b.Op(operator, []model.Value{b.Input(in...)}, at("axis", axis), at("keepdims", 0)))
	}}
}

// nms is a selection of boxes by their scores, at most 100 of each class.
func nms(name string, boxes, classes int, threshold float32) Case {
	return Case{name, func(b *model.Builder) {
		low := b.InputOf(b.Uniform(0, 600, 1, boxes, 2))
		all := b.Concat(2, low, b.Do("Add", low, b.InputOf(b.Uniform(4, 80, 1, boxes, 2))))
		scores := b.InputOf(b.Uniform(0, 1, 1, classes, boxes))
		limit, overlap, least := b.Ints(100), b.Constant(b.Uniform(0.45, 0.45, 1)), b.Constant(b.Uniform(float64(threshold), float64(threshold), 1))
		b.OutputOf(types.I64, b.Do("NonMaxSuppression", all, scores, limit, overlap, least))
	}}
}

// taken is a Gather of random rows.
func taken(name string, in shape, axis int, indices ...int) Case {
	return row(name, func(b *model.Builder) model.Value {
		return b.Op("Gather", []model.Value{b.Constant(b.Normal(1, in...)), b.Indices(in[axis], indices...)}, at("axis", axis))
	})
}

// lookups are so many lookups of random rows, one in each of so many tables, next to each other: the categories of a recommender.
func lookups(name string, tables, rows, width, batch int) Case {
	return row(name, func(b *model.Builder) model.Value {
		list := make([]model.Value, tables)
		for i := range list {
			list[i] = b.Op("Gather", []model.Value{b.Constant(b.Normal(1, rows, width)), b.Indices(rows, batch)})
		}
		return b.Concat(1, list...)
	})
}

// running is a sum of all before.
func running(name string, in shape, axis int, attrs ...model.Attr) Case {
	return row(name, func(b *model.Builder) model.Value {
		return b.Op("CumSum", []model.Value{b.Input(in...), b.Do("Squeeze", b.Ints(axis))}, attrs...)
	})
}

var index = []Case{
	topK("topk_axis1", shape{8, 1000, 16}, 1, 5),
	topK("topk_1x1000_5", shape{1, 1000}, 1, 5),
	topK("topk_1x8400_300", shape{1, 8400}, 1, 300),
	topK("topk_64x50257_50", shape{4, 50257}, 1, 50),
	place("argmax_1x1000", "ArgMax", shape{1, 1000}, 1),
	place("argmax_axis1_19_512x256", "ArgMax", shape{1, 19, 512, 256}, 1),
	place("argmax_last_512x1000", "ArgMax", shape{512, 1000}, 1),
	place("argmin_axis0_512x300", "ArgMin", shape{512, 300}, 0),
	lookups("lookups_26x1000x16_b256", 26, 1000, 16, 256),
	lookups("lookups_100x100x24_b32", 100, 100, 24, 32),
	lookups("lookups_40x100x10_b1", 40, 100, 10, 1),
	nms("nms_1000x1", 1000, 1, 0.5),
	nms("nms_2000x80_yolo", 2000, 80, 0.99),
	nms("nms_8400x1_low", 8400, 1, 0.05),
	taken("gather_embed_30522x768", shape{30522, 768}, 0, 1, 128),
	taken("gather_embed_1_row", shape{32000, 512}, 0, 1),
	taken("gather_2_of_6_long_rows", shape{6, 35160}, 0, 2),
	taken("gather_axis1_512x300", shape{512, 300}, 1, 64),
	taken("gather_tiny_bags_1000x16", shape{1000, 16}, 0, 64, 26),
	running("cumsum_last_4096x64", shape{4096, 64}, 1),
	running("cumsum_axis0_4096x64", shape{4096, 64}, 0),
	running("cumsum_axis0_1900x60", shape{1900, 60}, 0),
	running("cumsum_1d_100000", shape{100000}, 0),
	running("cumsum_reverse_64x1000", shape{64, 1000}, 1, at("reverse", 1)),
	row("gathernd_1000of_64x64", func(b *model.Builder) model.Value {
		return b.Do("GatherND", b.Input(64, 64, 32), b.Indices(64, 1000, 2))
	}),
	row("gatherelements_512x300", func(b *model.Builder) model.Value {
		return b.Op("GatherElements", []model.Value{b.Input(512, 300), b.Indices(512, 256, 300)}, at("axis", 0))
	}),
	row("scatternd_rows_1000x64", func(b *model.Builder) model.Value {
		return b.Do("ScatterND", b.Input(1000, 64), b.Constant(distinct(1000, 100)), b.Input(100, 64))
	}),
	row("scatterelements_512x300", func(b *model.Builder) model.Value {
		return b.Op("ScatterElements", []model.Value{b.Input(512, 300), b.Indices(512, 16, 300), b.Input(16, 300)}, at("reduction", "add"))
	}),
	row("onehot_64x1000", func(b *model.Builder) model.Value {
		return b.Op("OneHot", []model.Value{b.Indices(1000, 64), b.Ints(1000), b.Constant(b.Uniform(0, 1, 2))}, at("axis", -1))
	}),
	row("trilu_mask_512", func(b *model.Builder) model.Value {
		return b.Op("Trilu", []model.Value{b.Input(1, 512, 512)}, at("upper", 0))
	}),
}

// distinct is a column of different indices below high.
func distinct(high, count int) *tensor.Tensor {
	list := make([]int64, count)
	for i := range list {
		list[i] = int64(i * (high / count))
	}
	return tensor.Of([]int{count, 1}, list)
}
