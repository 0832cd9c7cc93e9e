package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// esrganSmall makes an image of 64x64 four times as large: xinntao/ESRGAN's RRDBNet (Wang et al. 2018) with 6 blocks instead of 23.
func esrganSmall(b exporter) {
	x := b.conv(b.Input(1, 3, 64, 64), 3, 64, 3, 1, 1)
	y := x
	for range 6 {
		z := y
		for range 3 {
			z = b.dense5(z)
		}
		y = b.add(b.mul(z, b.Number(0.2)), y)
	}
	y = b.add(x, b.conv(y, 64, 64, 3, 1, 1))
	for range 2 {
		y = b.leaky(b.conv(b.Double(y, "nearest"), 64, 64, 3, 1, 1), 0.2)
	}
	b.Output(b.conv(b.leaky(b.conv(y, 64, 64, 3, 1, 1), 0.2), 64, 3, 3, 1, 1))
}

// dense5 is five convolutions, each of what all before it gave.
func (b exporter) dense5(x model.Value) model.Value {
	parts := []model.Value{x}
	for i := range 4 {
		in := x
		if i > 0 {
			in = b.Concat(1, parts...)
		}
		parts = append(parts, b.leaky(b.conv(in, 64+32*i, 32, 3, 1, 1), 0.2))
	}
	y := b.conv(b.Concat(1, parts...), 64+32*4, 64, 3, 1, 1)
	return b.add(b.mul(y, b.Number(0.2)), x)
}

// fastStyle paints an image of 224x224: the transformer net of pytorch/examples' fast_neural_style (Johnson et al. 2016).
func fastStyle(b exporter) {
	x := b.Input(1, 3, 224, 224)
	layer := func(x model.Value, in, out, k, stride int) model.Value {
		return b.instance(b.reflected(x, in, out, k, stride), out)
	}
	x = b.relu(layer(x, 3, 32, 9, 1))
	x = b.relu(layer(x, 32, 64, 3, 2))
	x = b.relu(layer(x, 64, 128, 3, 2))
	for range 5 {
		y := b.relu(layer(x, 128, 128, 3, 1))
		x = b.add(layer(y, 128, 128, 3, 1), x)
	}
	x = b.relu(layer(b.Double(x, "nearest"), 128, 64, 3, 1))
	x = b.relu(layer(b.Double(x, "nearest"), 64, 32, 3, 1))
	b.Output(b.reflected(x, 32, 3, 9, 1))
}

// instance is a trained instance normalisation.
func (b exporter) instance(x model.Value, channels int) model.Value {
	return b.Op("InstanceNormalization", []model.Value{x, b.Scale(channels), b.Weight(0.1, channels)}, model.At("epsilon", 1e-5))
}

// reflected is a convolution of an image with reflected borders. The exporter turns PyTorch's order of paddings, from the last axis and in
// pairs, into that of ONNX by nodes.
func (b exporter) reflected(x model.Value, in, out, k, stride int) model.Value {
	n := k / 2
	rest := b.Op("ConstantOfShape", []model.Value{b.Ints(4)}, model.At("value", tensor.Of([]int{1}, []int64{0})))
	pads := b.Reshape(b.Concat(0, b.Ints(n, n, n, n), rest), -1, 2)
	pads = b.Transpose(b.Slice(pads, 0, -1, math.MinInt64, -1), 1, 0)
	pads = b.Op("Cast", []model.Value{b.Reshape(pads, -1)}, model.At("to", 7))
	x = b.Op("Pad", []model.Value{x, pads}, model.At("mode", "reflect"))
	return b.ConvBias(x, in, out, model.Window{Kernel: []int{k, k}, Stride: stride})
}
