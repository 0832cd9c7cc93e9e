package sweep

import "lathe/bench/model"

// dw is a depthwise convolution on a square image.
func dw(name string, channels, size int, w model.Window) Case {
	return conv(name, image(channels, size), channels, w.Grouped(channels))
}

var depthwise = []Case{
	dw("3x3_32_112", 32, 112, sq(3)),
	dw("3x3s2_96_112", 96, 112, sq(3).By(2)),
	dw("3x3_144_56", 144, 56, sq(3)),
	dw("3x3_384_14", 384, 14, sq(3)),
	dw("3x3_960_7", 960, 7, sq(3)),
	dw("3x3_37_29_odd", 37, 29, sq(3)),
	dw("3x3_20_256_blur", 20, 256, sq(3)),
	conv("k3_98_1880_lines", shape{8, 98, 1880}, 98, line(3, 1, 1).Grouped(98)),
	dw("5x5_120_28", 120, 28, sq(5)),
	dw("5x5s2_240_28", 240, 28, sq(5).By(2)),
	dw("7x7_96_56", 96, 56, sq(7)),
	dw("7x7_768_7", 768, 7, sq(7)),
	dw("31x31_64_28_replknet", 64, 28, sq(31)),
	dw("3x3d2_256_28", 256, 28, dilated(3, 2)),
	dw("1x5_96_28", 96, 28, sides(1, 5)),
	dw("21x1_64_64_segnext", 64, 64, sides(21, 1)),
	dw("1x21_64_64_segnext", 64, 64, sides(1, 21)),
	conv("3x3_b8_64_28", shape{8, 64, 28, 28}, 64, sq(3).Grouped(64)),
	conv("3x3_mult2_32_56", image(32, 56), 64, sq(3).Grouped(32)),
	wrapped("3x3_mult2_32_56_wrap", image(32, 56), 64, sq(3).Grouped(32)),
	wrapped("3x3_144_28_wrap", image(144, 28), 144, sq(3).Grouped(144)),
	wrapped("7x7_96_56_wrap", image(96, 56), 96, sq(7).Grouped(96)),
	wrapped("5x5_37_29_odd_wrap", image(37, 29), 37, sq(5).Grouped(37)),
}

// gw is a grouped convolution of 3x3 on a square image that keeps the channels.
func gw(name string, channels, size, groups int) Case {
	return conv(name, image(channels, size), channels, sq(3).Grouped(groups))
}

func gwWrapped(name string, channels, size, groups int) Case {
	return wrapped(name, image(channels, size), channels, sq(3).Grouped(groups))
}

var grouped = []Case{
	conv("g2_96_256_27_alexnet", image(96, 27), 256, sq(5).Grouped(2)),
	gw("g2_192_13", 384, 13, 2),
	gwWrapped("g2_192_13_wrap", 384, 13, 2),
	gw("g32_128_56_resnext", 128, 56, 32),
	gwWrapped("g32_128_56_resnext_wrap", 128, 56, 32),
	gwWrapped("g32_256_28_resnext_wrap", 256, 28, 32),
	gwWrapped("g32_1024_7_resnext_wrap", 1024, 7, 32),
	wrapped("g32s2_256_56_resnext_wrap", image(256, 56), 256, sq(3).By(2).Grouped(32)),
	gw("g8w8_64_56_regnet", 64, 56, 8),
	gwWrapped("g8w8_64_56_regnet_wrap", 64, 56, 8),
	gw("g4w16_64_28_regnet", 64, 28, 4),
	gwWrapped("g4w16_64_28_regnet_wrap", 64, 28, 4),
	gw("g10w16_160_14_regnet", 160, 14, 10),
	gwWrapped("g10w16_160_14_regnet_wrap", 160, 14, 10),
	gwWrapped("g55w8_440_7_regnet_wrap", 440, 7, 55),
	gwWrapped("g3w24_72_28_wrap", 72, 28, 3),
	gwWrapped("g7w5_35_28_odd_wrap", 35, 28, 7),
	wrapped("1x1_g4_512_28_wrap", image(512, 28), 512, sq(1).Grouped(4)),
	conv("1x1_g3_240_28_shufflenet", image(240, 28), 60, sq(1).Grouped(3)),
	conv("1x1_g8_384_14_shufflenet", image(384, 14), 96, sq(1).Grouped(8)),
	conv("b4_g32_128_28", shape{4, 128, 28, 28}, 128, sq(3).Grouped(32)),
	conv("1d_g4_k3_256_500", shape{1, 256, 500}, 256, model.Window{Kernel: []int{3}, Pad: 1, Group: 4}),
	conv("3d_g4_32_8x28", shape{1, 32, 8, 28, 28}, 32, cube(3, 1).Grouped(4)),
}

// transposed is a transposed convolution with a bias.
func transposed(name string, in shape, out int, w model.Window) Case {
	return row(name, func(b *model.Builder) model.Value { return b.ConvTranspose(b.Input(in...), in[1], out, w, true) })
}

// up is a window of a transposed convolution on images.
func up(kernel, stride, pad int, out ...int) model.Window {
	return model.Window{Kernel: []int{kernel, kernel}, Stride: stride, Pad: pad, Out: out}
}

var convTranspose = []Case{
	transposed("2x2s2_128_64_64_unet", image(128, 64), 64, up(2, 2, 0)),
	transposed("2x2s2_1024_512_16_unet", image(1024, 16), 512, up(2, 2, 0)),
	transposed("2x2s2_256_256_14_maskrcnn", image(256, 14), 256, up(2, 2, 0)),
	transposed("4x4s4_64_32_28", image(64, 28), 32, up(4, 4, 0)),
	transposed("4x4_100_512_1_dcgan", image(100, 1), 512, up(4, 1, 0)),
	transposed("4x4s2_512_256_4_dcgan", image(512, 4), 256, up(4, 2, 1)),
	transposed("4x4s2_128_64_16_dcgan", image(128, 16), 64, up(4, 2, 1)),
	transposed("4x4s2_64_3_32_dcgan", image(64, 32), 3, up(4, 2, 1)),
	transposed("4x4s2_21_21_16_fcn", image(21, 16), 21, up(4, 2, 0)),
	transposed("16x16s8_21_21_34_fcn", image(21, 34), 21, up(16, 8, 0)),
	transposed("3x3s2_128_64_64_cyclegan", image(128, 64), 64, up(3, 2, 1, 1, 1)),
	transposed("5x5s2_64_32_32", image(64, 32), 32, up(5, 2, 2, 1, 1)),
	transposed("9x9s3_56_1_64_fsrcnn", image(56, 64), 1, up(9, 3, 4, 2, 2)),
	transposed("3x3_64_64_28", image(64, 28), 64, up(3, 1, 1)),
	transposed("3x3_32_1_28_autoencoder", image(32, 28), 1, up(3, 1, 1)),
	transposed("4x4_504_1_7", image(504, 7), 1, up(4, 1, 0)),
	transposed("b8_5x5_55_2_61x16", shape{8, 55, 61, 16}, 2, up(5, 1, 1)),
	transposed("3x3s2_37_19_29_odd", image(37, 29), 19, up(3, 2, 1)),
	transposed("b4_4x4s2_128_64_16", shape{4, 128, 16, 16}, 64, up(4, 2, 1)),
	transposed("4x4s2_g4_64_64_28", image(64, 28), 64, up(4, 2, 1).Grouped(4)),
	transposed("4x4s2_dw_64_28", image(64, 28), 64, up(4, 2, 1).Grouped(64)),
}
