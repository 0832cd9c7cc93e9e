package zoo

import "lathe/bench/model"

// A volumes writes layers of three-dimensional images.
type volumes struct{ exporter }

// unet3D segments a volume of 32x48x48: wolny/pytorch-3dunet's UNet3D of 16 to 128 channels with transposed convolutions (Çiçek et al.
// 2016). Groups are normalised before the convolutions. At 64x64x64, ONNX Runtime's sums over a million numbers above zero are off by 2e-4.
func unet3D(b exporter) {
	v := volumes{b}
	x, in := v.Input(1, 1, 32, 48, 48), 1
	var skips []model.Value
	for level, out := range []int{16, 32, 64, 128} {
		if level > 0 {
			x = v.MaxPool(x, model.Window{Kernel: []int{2, 2, 2}, Stride: 2})
		}
		x = v.layer(v.layer(x, in, max(in, out/2)), max(in, out/2), out)
		skips, in = append(skips, x), out
	}
	for level := 2; level >= 0; level-- {
		out := in / 2
		w := model.Window{Kernel: []int{3, 3, 3}, Stride: 2, Pad: 1, Out: []int{1, 1, 1}}
		x = v.Concat(1, skips[level], v.ConvTranspose(x, in, out, w, true))
		x = v.layer(v.layer(x, in, out), out, out)
		in = out
	}
	x = v.ConvBias(x, in, 2, model.Window{Kernel: []int{1, 1, 1}})
	v.Output(v.softmax(x, 1))
}

// layer is a normalisation of 8 groups, or of one of few channels, a convolution without a bias and a ReLU.
func (v volumes) layer(x model.Value, in, out int) model.Value {
	groups := 8
	if in < groups {
		groups = 1
	}
	shape := v.Do("Shape", x)
	y := v.Reshape(x, 0, groups, -1)
	y = v.Op("InstanceNormalization", []model.Value{y, v.Constant(v.Uniform(1, 1, groups)), v.Constant(v.Uniform(0, 0, groups))}, model.At("epsilon", 1e-5))
	y = v.add(v.mul(v.Do("Reshape", y, shape), v.Scale(in, 1, 1, 1)), v.Weight(0.1, in, 1, 1, 1))
	return v.relu(v.Conv(y, in, out, model.Window{Kernel: []int{3, 3, 3}, Pad: 1}))
}
