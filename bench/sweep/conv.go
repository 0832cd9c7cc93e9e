package sweep

import "lathe/bench/model"

// conv is a convolution with a bias on an input of any rank.
func conv(name string, in shape, out int, w model.Window) Case {
	return row(name, func(b *model.Builder) model.Value { return b.ConvBias(b.Input(in...), in[1], out, w) })
}

// wrapped is the convolution between two others of 1x1, as networks have it: the layouts are those of their results.
func wrapped(name string, in shape, out int, w model.Window) Case {
	return row(name, func(b *model.Builder) model.Value {
		x := b.ConvBNReLU(b.Input(in...), in[1], in[1], model.Square(1))
		return b.ConvBias(b.ConvBNReLU(x, in[1], out, w), out, out, model.Square(1))
	})
}

// image is one of so many channels and a size.
func image(channels, size int) shape { return shape{1, channels, size, size} }

// line is a window of one axis.
func line(kernel, stride, pad int) model.Window {
	return model.Window{Kernel: []int{kernel}, Stride: stride, Pad: pad}
}

// sides is a window of two sizes that keeps sizes.
func sides(h, w int) model.Window {
	return model.Window{Kernel: []int{h, w}, Pads: []int{h / 2, w / 2, h / 2, w / 2}}
}

// cube is a window of three axes.
func cube(kernel, stride int) model.Window {
	return model.Window{Kernel: []int{kernel, kernel, kernel}, Stride: stride, Pad: kernel / 2}
}

// plain is a square window without padding.
func plain(kernel, stride int) model.Window {
	return model.Window{Kernel: []int{kernel, kernel}, Stride: stride}
}

// dilated is a square window that keeps sizes.
func dilated(kernel, d int) model.Window {
	return model.Window{Kernel: []int{kernel, kernel}, Pad: kernel / 2 * d, Dilate: d}
}

var sq = model.Square

var conv1d = []Case{
	conv("k10s5_1_512_16000_wav2vec2", shape{1, 1, 16000}, 512, line(10, 5, 0)),
	conv("k3s2_512_512_3199_wav2vec2", shape{1, 512, 3199}, 512, line(3, 2, 0)),
	conv("k3_80_512_3000_whisper", shape{1, 80, 3000}, 512, line(3, 1, 1)),
	conv("k3s2_512_512_3000_whisper", shape{1, 512, 3000}, 512, line(3, 2, 1)),
	conv("demucs_k8s4_1_48", shape{1, 1, 16000}, 48, line(8, 4, 0)),
	conv("demucs_k8s4_48_96", shape{1, 48, 4000}, 96, line(8, 4, 0)),
	conv("k1_256_512_1000", shape{1, 256, 1000}, 512, line(1, 1, 0)),
	conv("k5_512_512_200_tacotron", shape{1, 512, 200}, 512, line(5, 1, 2)),
	conv("k7_80_256_400_vocoder", shape{1, 80, 400}, 256, line(7, 1, 3)),
	conv("k3d27_64_64_4000_wavenet", shape{1, 64, 4000}, 64, model.Window{Kernel: []int{3}, Pad: 27, Dilate: 27}),
	conv("k7_33_17_999_odd", shape{1, 33, 999}, 17, line(7, 1, 3)),
	conv("k128g16_768_49_position", shape{1, 768, 49}, 768, model.Window{Kernel: []int{128}, Pad: 64, Group: 16}),
	conv("dw_k31_256_500_conformer", shape{1, 256, 500}, 256, model.Window{Kernel: []int{31}, Pad: 15, Group: 256}),
	conv("dw_k4_1536_64_mamba", shape{1, 1536, 64}, 1536, model.Window{Kernel: []int{4}, Pads: []int{3, 0}, Group: 1536}),
	conv("b8_k3_64_128_512", shape{8, 64, 512}, 128, line(3, 1, 1)),
	transposed("convT_k4s2_64_32_8192", shape{1, 64, 8192}, 32, line(4, 2, 1)),
	transposed("convT_k16s8_256_128_400_vocoder", shape{1, 256, 400}, 128, line(16, 8, 4)),
}

var conv2d = []Case{
	conv("3x3_191_8_lines_of_1", shape{3, 191, 12, 3}, 8, plain(3, 1)),
	conv("1x1_64_256_56", image(64, 56), 256, sq(1)),
	conv("1x1_256_64_56", image(256, 56), 64, sq(1)),
	conv("1x1_512_2048_7", image(512, 7), 2048, sq(1)),
	conv("1x1s2_256_512_56", image(256, 56), 512, sq(1).By(2)),
	conv("1x1_320_1280_7", image(320, 7), 1280, sq(1)),
	conv("1x1_16_96_112", image(16, 112), 96, sq(1)),
	conv("1x1_960_160_7", image(960, 7), 160, sq(1)),
	conv("1x1_1280_1000_1", image(1280, 1), 1000, sq(1)),
	conv("1x1_240_10_1_se", image(240, 1), 10, sq(1)),
	conv("3x3_64_64_56", image(64, 56), 64, sq(3)),
	conv("3x3_128_128_28", image(128, 28), 128, sq(3)),
	conv("3x3_256_256_14", image(256, 14), 256, sq(3)),
	conv("3x3_512_512_7", image(512, 7), 512, sq(3)),
	conv("3x3s2_128_256_56", image(128, 56), 256, sq(3).By(2)),
	conv("3x3_3_64_224_vgg", image(3, 224), 64, sq(3)),
	conv("3x3_64_64_224_vgg", image(64, 224), 64, sq(3)),
	conv("3x3s2_3_32_224_mobilenet", image(3, 224), 32, sq(3).By(2)),
	conv("7x7s2_3_64_224_resnet", image(3, 224), 64, sq(7).By(2)),
	conv("11x11s4_3_64_224_alexnet", image(3, 224), 64, model.Window{Kernel: []int{11, 11}, Stride: 4, Pad: 2}),
	conv("4x4s4_3_96_224_convnext", image(3, 224), 96, plain(4, 4)),
	conv("16x16s16_3_768_224_vit", image(3, 224), 768, plain(16, 16)),
	conv("3x3s2_3_24_640_yolo", image(3, 640), 24, sq(3).By(2)),
	conv("6x6s2_3_32_640_yolov5", image(3, 640), 32, model.Window{Kernel: []int{6, 6}, Stride: 2, Pad: 2}),
	conv("3x3_32_32_160", image(32, 160), 32, sq(3)),
	conv("3x3_1_64_256_dncnn", image(1, 256), 64, sq(3)),
	conv("3x3_64_1_256_dncnn", image(64, 256), 1, sq(3)),
	conv("9x9_3_32_256_style", image(3, 256), 32, sq(9)),
	conv("9x9_32_3_256_style", image(32, 256), 3, sq(9)),
	conv("5x5_1_6_28_lenet", image(1, 28), 6, sq(5)),
	conv("5x5_6_16_14_lenet", image(6, 14), 16, plain(5, 1)),
	conv("5x5_48_64_35", image(48, 35), 64, sq(5)),
	conv("1x7_128_128_17_inception", image(128, 17), 128, sides(1, 7)),
	conv("7x1_160_192_17_inception", image(160, 17), 192, sides(7, 1)),
	conv("3x3d2_256_256_28", image(256, 28), 256, dilated(3, 2)),
	conv("3x3d4_64_64_65", image(64, 65), 64, dilated(3, 4)),
	conv("3x3d12_512_256_33_aspp", image(512, 33), 256, dilated(3, 12)),
	conv("3x3s2_80bin_speech", shape{1, 1, 1000, 80}, 64, sq(3).By(2)),
	conv("41x11_1_32_deepspeech", shape{1, 1, 161, 200}, 32, model.Window{Kernel: []int{41, 11}, Stride: 2, Pads: []int{20, 5, 20, 5}}),
	conv("3x3s2pad_asym_tf", image(32, 112), 64, model.Window{Kernel: []int{3, 3}, Stride: 2, Pads: []int{0, 0, 1, 1}}),
	conv("3x3_512_512_1x1", image(512, 1), 512, sq(3)),
	conv("1x1_512_512_1x1", image(512, 1), 512, sq(1)),
	conv("3x3_1000_1000_4", image(1000, 4), 1000, sq(3)),
	conv("3x3_3_17_112", image(3, 112), 17, sq(3)),
	conv("3x3_37_53_29_odd", image(37, 29), 53, sq(3)),
	conv("1x1_37_53_29_odd", image(37, 29), 53, sq(1)),
	conv("2x2_64_64_31", image(64, 31), 64, plain(2, 1)),
	conv("3x3s3_64_64_57", image(64, 57), 64, sq(3).By(3)),
	conv("b4_3x3_64_64_28", shape{4, 64, 28, 28}, 64, sq(3)),
	conv("b16_1x1_128_128_14", shape{16, 128, 14, 14}, 128, sq(1)),
	conv("b32_3x3_32_32_8_cifar", shape{32, 32, 8, 8}, 32, sq(3)),
	conv("3x3_16_16_512_large", image(16, 512), 16, sq(3)),
	conv("1x1_8_8_1024_large", image(8, 1024), 8, sq(1)),
	conv("3x3s2_5_14_56_narrow", image(5, 56), 14, sq(3).By(2)),
	conv("3x3s2_3_8_224_narrow", image(3, 224), 8, sq(3).By(2)),
	conv("3x3s2_64_3_112_narrow", image(64, 112), 3, sq(3).By(2)),
	conv("5x5s3_12_6_90_narrow", image(12, 90), 6, sq(5).By(3)),
	conv("2x2s2_32_12_64_narrow", image(32, 64), 12, plain(2, 2)),
	conv("1x1s2_48_10_56_narrow", image(48, 56), 10, sq(1).By(2)),
}

var conv3d = []Case{
	conv("c3d_3_64_16x112", shape{1, 3, 16, 56, 56}, 64, cube(3, 1)),
	conv("c3d_128_256_8x14", shape{1, 128, 8, 14, 14}, 256, cube(3, 1)),
	conv("unet3d_1_16_64", shape{1, 1, 64, 64, 64}, 16, cube(3, 1)),
	conv("unet3d_32_32_32", shape{1, 32, 32, 32, 32}, 32, cube(3, 1)),
	conv("k1_64_32_16", shape{1, 64, 16, 16, 16}, 32, cube(1, 1)),
	conv("r3d_s2_64_128_16x28", shape{1, 64, 16, 28, 28}, 128, cube(3, 2)),
	conv("k1x3x3_64_144_8x28", shape{1, 64, 8, 28, 28}, 144, model.Window{Kernel: []int{1, 3, 3}, Pads: []int{0, 1, 1, 0, 1, 1}}),
	conv("k3x1x1_144_64_8x28", shape{1, 144, 8, 28, 28}, 64, model.Window{Kernel: []int{3, 1, 1}, Pads: []int{1, 0, 0, 1, 0, 0}}),
	conv("dw_k3_54_8x28_x3d", shape{1, 54, 8, 28, 28}, 54, cube(3, 1).Grouped(54)),
	row("maxpool_avgpool", func(b *model.Builder) model.Value {
		x := b.MaxPool(b.Input(1, 32, 16, 32, 32), model.Window{Kernel: []int{2, 2, 2}, Stride: 2})
		return b.AveragePool(x, model.Window{Kernel: []int{2, 2, 2}, Stride: 2})
	}),
	transposed("convT_k2s2_64_32_16", shape{1, 64, 16, 16, 16}, 32, model.Window{Kernel: []int{2, 2, 2}, Stride: 2}),
}
