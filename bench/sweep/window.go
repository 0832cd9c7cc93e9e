package sweep

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
)

// maximum and average are poolings.
func maximum(name string, in shape, w model.Window) Case {
	return op(name, "MaxPool", on(in), w.Attrs()...)
}

func average(name string, in shape, w model.Window) Case {
	return op(name, "AveragePool", on(in), w.Attrs()...)
}

var pool = []Case{
	maximum("max3s2_64_112_resnet", image(64, 112), sq(3).By(2)),
	maximum("max2s2_64_224", image(64, 224), plain(2, 2)),
	maximum("max2s2_512_14", image(512, 14), plain(2, 2)),
	maximum("max3s1_192_28_googlenet", image(192, 28), sq(3)),
	maximum("max5s1_256_20_sppf", image(256, 20), sq(5)),
	maximum("max13s1_512_13_spp", image(512, 13), sq(13)),
	maximum("max3s2_37_29_odd", image(37, 29), sq(3).By(2)),
	maximum("max2x1_64_32x100_crnn", shape{1, 64, 32, 100}, model.Window{Kernel: []int{2, 1}, Stride: 2}),
	maximum("max1d_k2s2_64_8000", shape{1, 64, 8000}, line(2, 2, 0)),
	average("avg3s1_192_35_inception", image(192, 35), sq(3)),
	average("avg2s2_256_28_densenet", image(256, 28), plain(2, 2)),
	average("avg7_1024_7", image(1024, 7), plain(7, 7)),
	average("avg8s8_64_64_pspnet", image(64, 64), plain(8, 8)),
	average("avg1d_k25_32_1000_autoformer", shape{1, 32, 1000}, line(25, 1, 12)),
	op("lp2_32_56", "LpPool", on(image(32, 56)), plain(2, 2).Attrs()...),
}

// resized scales the last two axes of an image.
func resized(name string, in shape, factor float32, attrs ...model.Attr) Case {
	return row(name, func(b *model.Builder) model.Value {
		scales := b.Constant(tensor.Of([]int{4}, []float32{1, 1, factor, factor}))
		return b.Op("Resize", []model.Value{b.Input(in...), model.Absent, scales}, attrs...)
	})
}

// to is a resize to a size of the last two axes.
func to(name string, in shape, size int, attrs ...model.Attr) Case {
	return row(name, func(b *model.Builder) model.Value {
		return b.Op("Resize", []model.Value{b.Input(in...), model.Absent, model.Absent, b.Ints(in[0], in[1], size, size)}, attrs...)
	})
}

var (
	nearest = []model.Attr{at("mode", "nearest"), at("coordinate_transformation_mode", "asymmetric"), at("nearest_mode", "floor")}
	linear  = []model.Attr{at("mode", "linear"), at("coordinate_transformation_mode", "half_pixel")}
	corners = []model.Attr{at("mode", "linear"), at("coordinate_transformation_mode", "align_corners")}
	cubic   = []model.Attr{at("mode", "cubic"), at("coordinate_transformation_mode", "half_pixel"), at("cubic_coeff_a", -0.75)}
)

var resize = []Case{
	resized("nearest2x_256_20", image(256, 20), 2, nearest...),
	resized("nearest2x_64_80", image(64, 80), 2, nearest...),
	resized("nearest4x_37_29_odd", image(37, 29), 4, nearest...),
	resized("linear2x_64_64", image(64, 64), 2, linear...),
	resized("linear8x_19_64_segment", image(19, 64), 8, linear...),
	resized("linear_half_64_112", image(64, 112), 0.5, linear...),
	to("linear_down_3_512to224", image(3, 512), 224, linear...),
	to("linear_up_256_7to13", image(256, 7), 13, linear...),
	to("corners_21_65to513", image(21, 65), 513, corners...),
	to("nearest_64_13to26", image(64, 13), 26, nearest...),
	resized("cubic2x_3_64", image(3, 64), 2, cubic...),
	row("gridsample_64_64", func(b *model.Builder) model.Value {
		x, grid := b.Input(1, 64, 64, 64), b.InputOf(b.Uniform(-1, 1, 1, 64, 64, 2))
		return b.Op("GridSample", []model.Value{x, grid}, at("mode", "bilinear"))
	}),
	row("roialign_256_50_100x7", func(b *model.Builder) model.Value {
		corner, size := b.Uniform(0, 400, 100, 2), b.Uniform(50, 400, 100, 2)
		low := b.InputOf(corner)
		boxes := b.Concat(1, low, b.Do("Add", low, b.InputOf(size)))
		batch := b.Constant(tensor.New(b.Integers(1, 1).DType, 100))
		return b.Op("RoiAlign", []model.Value{b.Input(1, 256, 50, 50), boxes, batch},
			at("output_height", 7), at("output_width", 7), at("sampling_ratio", 2), at("spatial_scale", 0.0625))
	}),
}
