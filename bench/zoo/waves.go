package zoo

import (
	"math"

	"lathe/bench/model"
)

// tcn predicts 400 characters of 50 by convolutions that look back (Bai et al. 2018), with the extents of locuslab/TCN's char_cnn; the
// normalisation of weights is folded.
func tcn(b exporter) {
	const letters, wide, kernel = 50, 100, 3
	table := b.Weight(1, letters, wide)
	x, in := b.Transpose(b.take(table, b.Indices(letters, 1, 400)), 0, 2, 1), wide
	for level, out := range []int{450, 450, wide} {
		x = b.temporal(x, in, out, kernel, 1<<level)
		in = out
	}
	y := b.Do("MatMul", b.Transpose(x, 0, 2, 1), b.Transpose(table, 1, 0))
	b.Output(b.add(y, b.Weight(0.1, letters)))
}

// temporal is a block of two dilated convolutions, whose ends are cut off so that nothing looks ahead, and a shortcut.
func (b exporter) temporal(x model.Value, in, out, kernel, dilation int) model.Value {
	pad := (kernel - 1) * dilation
	w := model.Window{Kernel: []int{kernel}, Pad: pad, Dilate: dilation}
	causal := func(v model.Value, in int) model.Value {
		return b.relu(b.Slice(b.ConvBias(v, in, out, w), 2, 0, -pad, 1))
	}
	y := causal(causal(x, in), out)
	if in != out {
		x = b.conv1(x, in, out, 1, 1, 1, 1)
	}
	return b.relu(b.add(y, x))
}

// waveNet is NVIDIA/nv-wavenet's network in PyTorch (van den Oord et al. 2016) over 4096 samples of 256 levels and 16 frames of 80 bands:
// 16 layers of gated convolutions with skips, which look back by 1 to 128.
func waveNet(b exporter) {
	const layers, wide, skips, levels, bands, frames = 16, 64, 256, 256, 80, 16
	const rows = 256 * frames
	x := b.Transpose(b.take(b.Weight(1, levels, wide), b.Indices(levels, 1, rows)), 0, 2, 1)
	c := b.up(b.Input(1, bands, frames), bands, bands, 1024, 256, 0)
	c = b.Slice(c, 2, 0, -(1024 - 256), 1)
	c = b.view(b.conv1(c, bands, 2*wide*layers, 1, 1, 1, 1), -100, layers, -1, rows)
	var sum model.Value
	for i := range layers {
		y := b.add(b.causal(x, wide, 2*wide, 2, 1<<(i%8)), b.at(c, 1, i))
		y = b.mul(b.Do("Tanh", b.Slice(y, 1, 0, wide, 1)), b.Do("Sigmoid", b.Slice(y, 1, wide, 1<<62, 1)))
		if i < layers-1 {
			x = b.add(b.conv1(y, wide, wide, 1, 1, 1, 1), x)
		}
		if s := b.conv1(y, wide, skips, 1, 1, 1, 1); i == 0 {
			sum = s
		} else {
			sum = b.add(s, sum)
		}
	}
	one := model.Window{Kernel: []int{1}}
	y := b.Conv(b.relu(b.Conv(b.relu(sum), skips, levels, one)), levels, levels, one)
	first := b.mul(b.Slice(y, 2, 0, 1, 1), b.Number(0)) // moves scores to the sample that they are of
	b.Output(b.Concat(2, first, b.Slice(y, 2, 0, -1, 1)))
}

// causal is a dilated convolution behind a padding on the left.
func (b exporter) causal(x model.Value, in, out, kernel, dilation int) model.Value {
	x = b.Op("Pad", []model.Value{x, b.Ints(0, 0, (kernel-1)*dilation, 0, 0, 0), b.Number(0)}, model.At("mode", "constant"))
	return b.ConvBias(x, in, out, model.Window{Kernel: []int{kernel}, Dilate: dilation})
}

// up is a transposed convolution along a line.
func (b exporter) up(x model.Value, in, out, kernel, stride, pad int) model.Value {
	w := model.Window{Kernel: []int{kernel}, Stride: stride, Pad: pad}
	weights := b.Weight(math.Sqrt(float64(stride)/float64(in*kernel)), in, out, kernel)
	return b.Op("ConvTranspose", []model.Value{x, weights, b.Weight(0.1, out)}, w.Attrs()...)
}

// hifiGANV1 makes 10240 samples of sound from 40 frames of 80 bands (Kong et al. 2020, jik876/hifi-gan), without the normalisation of
// weights, which is folded.
func hifiGANV1(b exporter) {
	x, in := b.conv1(b.Input(1, 80, 40), 80, 512, 7, 1, 1, 1), 512
	for i, stride := range []int{8, 8, 2, 2} {
		kernel := []int{16, 16, 4, 4}[i]
		x = b.up(b.leaky(x, 0.1), in, in/2, kernel, stride, (kernel-stride)/2)
		in /= 2
		var sum model.Value
		for _, k := range []int{3, 7, 11} {
			if y := b.residual(x, in, k); k == 3 {
				sum = y
			} else {
				sum = b.add(sum, y)
			}
		}
		x = b.Do("Div", sum, b.Number(3))
	}
	x = b.conv1(b.leaky(x, 0.01), in, 1, 7, 1, 1, 1)
	b.Output(b.Do("Tanh", x))
}

// residual is three shortcuts around dilated convolutions, which change little: so values keep their size.
func (b exporter) residual(x model.Value, c, kernel int) model.Value {
	for _, d := range []int{1, 3, 5} {
		y := b.conv1(b.leaky(x, 0.1), c, c, kernel, 1, d, 1)
		w := model.Window{Kernel: []int{kernel}, Pad: kernel / 2}
		weights := b.Weight(0.3/math.Sqrt(float64(c*kernel)), c, c, kernel)
		y = b.Op("Conv", []model.Value{b.leaky(y, 0.1), weights, b.Weight(0.1, c)}, w.Attrs()...)
		x = b.add(y, x)
	}
	return x
}
