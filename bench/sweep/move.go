package sweep

import "lathe/bench/model"

// permuted is a transpose.
func permuted(name string, in shape, perm ...int) Case {
	return op(name, "Transpose", on(in), at("perm", perm))
}

var transpose = []Case{
	permuted("1000x1000", shape{1000, 1000}, 1, 0),
	permuted("rows_5x8x1800", shape{5, 8, 1800}, 1, 0, 2),
	permuted("33x77_odd", shape{33, 77}, 1, 0),
	permuted("nchw_nhwc_64_56", image(64, 56), 0, 2, 3, 1),
	permuted("nhwc_nchw_3_224", shape{1, 224, 224, 3}, 0, 3, 1, 2),
	permuted("heads_128x12x64", shape{1, 128, 12, 64}, 0, 2, 1, 3),
	permuted("heads_keys_128x12x64", shape{1, 128, 12, 64}, 0, 2, 3, 1),
	permuted("swin_windows_96_56", shape{1, 8, 7, 8, 7, 96}, 0, 1, 3, 2, 4, 5),
	permuted("reverse_17x19x23", shape{17, 19, 23}, 2, 1, 0),
	permuted("shuffle_3x80x28", shape{1, 3, 80, 28, 28}, 0, 2, 1, 3, 4),
	op("s2d_3_640", "SpaceToDepth", on(image(3, 640)), at("blocksize", 2)),
	op("d2s_dcr_64_56", "DepthToSpace", on(image(64, 56)), at("blocksize", 2)),
	op("d2s_crd_27_112", "DepthToSpace", on(image(27, 112)), at("blocksize", 3), at("mode", "CRD")),
	withInput("focus_slices_3_640", image(3, 640), func(b *model.Builder, x model.Value) model.Value {
		part := func(i, j int) model.Value { return b.Slice(b.Slice(x, 2, i, 640, 2), 3, j, 640, 2) }
		return b.Concat(1, part(0, 0), part(1, 0), part(0, 1), part(1, 1))
	}),
	withInput("unfold_3x3_slices", image(32, 58), func(b *model.Builder, x model.Value) model.Value {
		var parts []model.Value
		for i := range 9 {
			parts = append(parts, b.Slice(b.Slice(x, 2, i/3, i/3+56, 1), 3, i%3, i%3+56, 1))
		}
		return b.Concat(1, parts...)
	}),
}

// padded is a Pad of the last two axes of an image by n.
func padded(name string, in shape, n int, mode string) Case {
	return row(name, func(b *model.Builder) model.Value {
		return b.Op("Pad", []model.Value{b.Input(in...), b.Ints(0, 0, n, n, 0, 0, n, n)}, at("mode", mode))
	})
}

var move = []Case{
	padded("pad_reflect_3_256", image(3, 256), 3, "reflect"),
	padded("pad_reflect_256_64", image(256, 64), 1, "reflect"),
	row("pad_reflect_column_120000", func(b *model.Builder) model.Value {
		return b.Op("Pad", []model.Value{b.Input(120000, 1), b.Ints(3, 0, 1, 0)}, at("mode", "reflect"))
	}),
	padded("pad_edge_64_56", image(64, 56), 2, "edge"),
	padded("pad_zero_64_56", image(64, 56), 1, "constant"),
	row("pad_s2d_scaled_40_48", func(b *model.Builder) model.Value {
		y := b.Op("SpaceToDepth", []model.Value{b.Do("LeakyRelu", b.Input(2, 40, 48, 48))}, at("blocksize", 2))
		y = b.Do("Pad", y, b.Ints(0, 0, 1, 1, 0, 0, 1, 1))
		return b.Do("Relu", b.BatchNorm(y, 160))
	}),
	op("concat_channels_2x64_56", "Concat", on(image(64, 56), image(64, 56)), at("axis", 1)),
	op("concat_last_3x197x192", "Concat", on(shape{1, 197, 192}, shape{1, 197, 192}, shape{1, 197, 192}), at("axis", 2)),
	op("concat_cache_32x511x64", "Concat", on(shape{1, 32, 511, 64}, shape{1, 32, 1, 64}), at("axis", 2)),
	op("concat_odd_17_19_23", "Concat", on(shape{17, 31}, shape{19, 31}, shape{23, 31}), at("axis", 0)),
	withInput("slice_channels_128_56", image(128, 56), func(b *model.Builder, x model.Value) model.Value { return b.Slice(x, 1, 32, 96, 1) }),
	withInput("slice_step2_64_112", image(64, 112), func(b *model.Builder, x model.Value) model.Value {
		return b.Slice(b.Slice(x, 2, 0, 112, 2), 3, 0, 112, 2)
	}),
	withInput("slice_reverse_512x512", shape{512, 512}, func(b *model.Builder, x model.Value) model.Value { return b.Slice(x, 1, -1, -1000, -1) }),
	withInput("slice_token_197x768", shape{1, 197, 768}, func(b *model.Builder, x model.Value) model.Value { return b.Slice(x, 1, 0, 1, 1) }),
	withInput("tile_expand", shape{1, 1, 256}, func(b *model.Builder, x model.Value) model.Value {
		return b.Do("Tile", b.Do("Expand", x, b.Ints(1, 32, 256)), b.Ints(8, 1, 2))
	}),
	withInput("tile_3x5_odd", shape{33, 17}, func(b *model.Builder, x model.Value) model.Value { return b.Do("Tile", x, b.Ints(3, 5)) }),
	withInput("expand_keys_8to32", shape{1, 8, 1, 128, 64}, func(b *model.Builder, x model.Value) model.Value {
		return b.Reshape(b.Do("Expand", x, b.Ints(1, 8, 4, 128, 64)), 1, 32, 128, 64)
	}),
	withInput("stack_4x128x256", shape{128, 256}, func(b *model.Builder, x model.Value) model.Value {
		y := b.Do("Unsqueeze", x, b.Ints(1))
		return b.Concat(1, y, b.Do("Neg", y), y, b.Do("Abs", y))
	}),
	{"split_qkv_128x2304", func(b *model.Builder) { b.Output(b.Split(b.Input(1, 128, 2304), 2, 768, 768, 768)...) }},
	withInput("split_odd_res2net", image(104, 56), func(b *model.Builder, x model.Value) model.Value {
		parts := b.Split(x, 1, 26, 26, 26, 26)
		y := parts[0]
		list := []model.Value{y}
		for _, p := range parts[1:] {
			y = b.ConvBNReLU(b.Do("Add", y, p), 26, 26, sq(3))
			list = append(list, y)
		}
		return b.Concat(1, list...)
	}),
	withInput("roll_56x56x96_swin", shape{1, 56, 56, 96}, func(b *model.Builder, x model.Value) model.Value {
		x = b.Concat(1, b.Slice(x, 1, 3, 56, 1), b.Slice(x, 1, 0, 3, 1))
		return b.Concat(2, b.Slice(x, 2, 3, 56, 1), b.Slice(x, 2, 0, 3, 1))
	}),
	op("flatten_identity_64_56", "Flatten", on(image(64, 56))),
}
