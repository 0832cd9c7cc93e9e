package zoo

import "lathe/bench/model"

// A keyword writes BC-ResNet (Kim et al. 2021) as Qualcomm-AI-research/bcresnet builds it.
type keyword struct{ exporter }

// bcResNet finds one of 12 words in a second of sound, 40 bands × 101 frames; width is 8 times the number in its name.
func bcResNet(width int) func(b exporter) {
	return func(b exporter) {
		k := keyword{b}
		in := 2 * width
		x := b.Op("Conv", []model.Value{b.Input(1, 1, 40, 101), b.Weight(0.3, in, 1, 5, 5), b.Weight(0.1, in)}, model.At("kernel_shape", []int{5, 5}),
			model.At("pads", []int{2, 2, 2, 2}), model.At("strides", []int{2, 1}))
		x = b.relu(x)
		bands := 20
		for stage, n := range []int{2, 2, 4, 4} {
			out := []int{width, 3 * width / 2, 2 * width, 5 * width / 2}[stage]
			for i := range n {
				stride := 1
				if i == 0 && (stage == 1 || stage == 2) {
					stride, bands = 2, bands/2
				}
				x = k.block(x, in, out, stride, 1<<stage, bands)
				in = out
			}
		}
		x = b.Conv(x, in, in, model.Window{Kernel: []int{5, 5}, Pads: []int{0, 2, 0, 2}, Group: in})
		x = b.relu(b.conv(x, in, 4*width, 1, 1, 1))
		b.Output(b.Reshape(b.conv(b.mean(x, 1, 2, 3), 4*width, 12, 1, 1, 1), -1, 12))
	}
}

// block mixes bands, and the mean of all bands along time, which is added to each of them.
func (k keyword) block(x model.Value, in, out, stride, dilation, bands int) model.Value {
	y := x
	if in != out {
		y = k.relu(k.conv(y, in, out, 1, 1, 1))
	}
	y = k.Op("Conv", []model.Value{y, k.Weight(0.6, out, 1, 3, 1)}, model.At("kernel_shape", []int{3, 1}), model.At("group", out),
		model.At("pads", []int{1, 0, 1, 0}), model.At("strides", []int{stride, 1}))
	y = k.subSpectral(y, out, bands)
	z := k.mean(y, 1, 2)
	z = k.SiLU(k.Op("Conv", []model.Value{z, k.Weight(0.6, out, 1, 1, 3), k.Weight(0.1, out)}, model.At("kernel_shape", []int{1, 3}), model.At("group", out),
		model.At("pads", []int{0, dilation, 0, dilation}), model.At("dilations", []int{1, dilation})))
	y = k.add(k.Conv(z, out, out, model.Square(1)), y)
	if in == out {
		y = k.add(y, x)
	}
	return k.relu(y)
}

// subSpectral normalises each of 5 parts of the bands for itself, which cannot be folded into the convolution.
func (k keyword) subSpectral(x model.Value, channels, bands int) model.Value {
	const parts = 5
	n, t := k.dim(x, 0), k.dim(x, 3)
	y := k.Do("Reshape", x, k.Concat(0, n, k.Ints(channels*parts, bands/parts), t))
	return k.Do("Reshape", k.BatchNorm(y, channels*parts), k.Concat(0, n, k.Ints(channels, bands), t))
}

// dsCNN is ARM's large network of separable convolutions for 12 words in 49 frames of 10 numbers (Zhang et al. 2017, ARM-software/
// ML-KWS-for-MCU): 276 channels, paddings of TensorFlow.
func dsCNN(b exporter) {
	const channels = 276
	x := b.Transpose(b.Reshape(b.Input(1, 490), -1, 49, 10, 1), 0, 3, 1, 2)
	x = b.relu(b.Op("Conv", []model.Value{x, b.Weight(0.2, channels, 1, 10, 4), b.Weight(0.1, channels)}, model.At("auto_pad", "SAME_UPPER"),
		model.At("strides", []int{2, 1})))
	for i := range 5 {
		stride := []int{2, 2}
		if i > 0 {
			stride = []int{1, 1}
		}
		x = b.relu(b.Op("Conv", []model.Value{x, b.Weight(0.4, channels, 1, 3, 3), b.Weight(0.1, channels)}, model.At("auto_pad", "SAME_UPPER"),
			model.At("group", channels), model.At("strides", stride)))
		x = b.relu(b.conv(x, channels, channels, 1, 1, 1))
	}
	x = b.Op("AveragePool", []model.Value{x}, model.At("kernel_shape", []int{13, 5}), model.At("strides", []int{1, 1}))
	b.Output(b.softmax(b.Dense(b.Op("Flatten", []model.Value{x}, model.At("axis", 1)), channels, 12), -1))
}

// eegNet tells apart four intentions in three seconds of 64 electrodes at 160 Hz (Lawhern et al. 2018, vlawhern/arl-eegmodels: EEGNet-8,2),
// with normalisations folded.
func eegNet(b exporter) {
	const electrodes, samples = 64, 480
	elu := func(x model.Value) model.Value { return b.Op("Elu", []model.Value{x}, model.At("alpha", 1.0)) }
	x := b.ConvBias(b.Input(1, 1, electrodes, samples), 1, 8, model.Window{Kernel: []int{1, 64}, Pads: []int{0, 31, 0, 32}})
	x = elu(b.ConvBias(x, 8, 16, model.Window{Kernel: []int{electrodes, 1}, Group: 8}))
	x = b.Op("AveragePool", []model.Value{x}, model.At("kernel_shape", []int{1, 4}), model.At("strides", []int{1, 4}))
	x = b.Conv(x, 16, 16, model.Window{Kernel: []int{1, 16}, Pads: []int{0, 7, 0, 8}, Group: 16})
	x = elu(b.conv(x, 16, 16, 1, 1, 1))
	x = b.Op("AveragePool", []model.Value{x}, model.At("kernel_shape", []int{1, 8}), model.At("strides", []int{1, 8}))
	b.Output(b.softmax(b.Dense(b.Op("Flatten", []model.Value{x}, model.At("axis", 1)), 16*samples/32, 4), -1))
}
