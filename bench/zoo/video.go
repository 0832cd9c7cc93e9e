package zoo

import "lathe/bench/model"

// cube is a window of three axes that keeps sizes at stride 1.
func cube(kernel, stride int) model.Window {
	return model.Window{Kernel: []int{kernel, kernel, kernel}, Pad: kernel / 2, Stride: stride}
}

// r3d18 is torchvision's r3d_18 (Tran et al. 2018): ResNet-18 with kernels over time as well, on 8 frames of 112x112. The exporter has
// folded the normalisations into the convolutions.
func r3d18(b exporter) {
	x, in := b.relu(b.frames(b.Input(1, 3, 8, 112, 112))), 64
	for stage := range 4 {
		out := 64 << stage
		for i := range 2 {
			stride := 1
			if i == 0 && stage > 0 {
				stride = 2
			}
			y := b.relu(b.ConvBias(x, in, out, cube(3, stride)))
			y = b.ConvBias(y, out, out, cube(3, 1))
			if stride == 2 {
				x = b.ConvBias(x, in, out, cube(1, 2))
			}
			x, in = b.relu(b.add(y, x)), out
		}
	}
	b.head(x, 512, 400)
}

// frames is the first convolution, of 3x7x7, which halves images and keeps the number of frames.
func (b exporter) frames(x model.Value) model.Value {
	weights, bias := b.Weight(0.067, 64, 3, 3, 7, 7), b.Weight(0.1, 64)
	return b.Op("Conv", []model.Value{x, weights, bias}, model.At("kernel_shape", []int{3, 7, 7}), model.At("strides", []int{1, 2, 2}),
		model.At("pads", []int{1, 3, 3, 1, 3, 3}))
}
