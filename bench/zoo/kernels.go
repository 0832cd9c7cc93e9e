package zoo

import "lathe/bench/model"

// repLK is RepLKNet: depthwise convolutions of 31x31, with normalisations before blocks, which nothing folds.
type repLK struct{ exporter }

// repLKNet31B is the first two of the four stages, which have the largest kernels (Ding et al. 2022; DingXiaoH/RepLKNet-pytorch, whose
// small kernels are merged into the large ones).
func repLKNet31B(b exporter) {
	r := repLK{b}
	x := r.relu(r.conv(r.Input(1, 3, 224, 224), 3, 128, 3, 2, 1))
	x = r.relu(r.conv(x, 128, 128, 3, 1, 128))
	x = r.relu(r.conv(x, 128, 128, 1, 1, 1))
	x = r.relu(r.conv(x, 128, 128, 3, 2, 128))
	x = r.stage(x, 128, 31)
	x = r.relu(r.conv(x, 128, 256, 1, 1, 1))
	x = r.relu(r.conv(x, 256, 256, 3, 2, 256))
	x = r.BatchNorm(r.stage(x, 256, 29), 256)
	r.head(x, 256, 1000)
}

// stage is two pairs of a large kernel and a feed forward.
func (r repLK) stage(x model.Value, width, kernel int) model.Value {
	for range 2 {
		y := r.relu(r.conv(r.BatchNorm(x, width), width, width, 1, 1, 1))
		y = r.relu(r.conv(y, width, width, kernel, 1, width))
		x = r.add(x, r.conv(y, width, width, 1, 1, 1))
		y = r.GELU(r.conv(r.BatchNorm(x, width), width, 4*width, 1, 1, 1))
		x = r.add(x, r.conv(y, 4*width, width, 1, 1, 1))
	}
	return x
}

// convMixer768 has patches and kernels of 7, and normalises behind ReLUs (Trockman and Kolter 2022; locuslab/convmixer's 768/32 with 6 of
// its 32 blocks).
func convMixer768(b exporter) {
	const wide = 768
	after := func(x model.Value) model.Value { return b.BatchNorm(b.relu(x), wide) }
	x := after(b.ConvBias(b.Input(1, 3, 224, 224), 3, wide, model.Window{Kernel: []int{7, 7}, Stride: 7}))
	for range 6 {
		x = b.add(after(b.conv(x, wide, wide, 7, 1, wide)), x)
		x = after(b.conv(x, wide, wide, 1, 1, 1))
	}
	b.head(x, wide, 1000)
}
