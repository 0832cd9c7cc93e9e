package zoo

import "lathe/bench/model"

// resNet50Batch classifies 8 images of 160x160 at once (He et al. 2015; torchvision's resnet50).
func resNet50Batch(b exporter) {
	x := b.relu(b.conv(b.Input(8, 3, 160, 160), 3, 64, 7, 2, 1))
	x, in := b.MaxPool(x, model.Square(3).By(2)), 64
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := 64 << stage
		for i := range blocks {
			stride := 1
			if i == 0 && stage > 0 {
				stride = 2
			}
			y := b.relu(b.conv(x, in, width, 1, 1, 1))
			y = b.relu(b.conv(y, width, width, 3, stride, 1))
			y = b.conv(y, width, 4*width, 1, 1, 1)
			if i == 0 {
				x = b.conv(x, in, 4*width, 1, stride, 1)
			}
			x, in = b.relu(b.add(y, x)), 4*width
		}
	}
	b.head(x, in, 1000)
}

// mobileNetV2Batch classifies 16 images at once (Sandler et al. 2018; torchvision's mobilenet_v2).
func mobileNetV2Batch(b exporter) {
	relu6 := func(x model.Value) model.Value { return b.Do("Clip", x, b.Number(0), b.Number(6)) }
	x, in := relu6(b.conv(b.Input(16, 3, 224, 224), 3, 32, 3, 2, 1)), 32
	for _, c := range [][4]int{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}} {
		for i := range c[2] {
			stride, wide, y := 1, in*c[0], x
			if i == 0 {
				stride = c[3]
			}
			if c[0] > 1 {
				y = relu6(b.conv(y, in, wide, 1, 1, 1))
			}
			y = relu6(b.conv(y, wide, wide, 3, stride, wide))
			y = b.conv(y, wide, c[1], 1, 1, 1)
			if stride == 1 && in == c[1] {
				y = b.add(x, y)
			}
			x, in = y, c[1]
		}
	}
	b.head(relu6(b.conv(x, in, 1280, 1, 1, 1)), 1280, 1000)
}

// viTTinyBatch classifies 4 images at once (Touvron et al. 2021; timm's vit_tiny_patch16_224).
func viTTinyBatch(b exporter) {
	const batch, rows, wide, heads = 4, 197, 192, 3
	x := b.ConvBias(b.Input(batch, 3, 224, 224), 3, wide, model.Window{Kernel: []int{16, 16}, Stride: 16})
	x = b.Transpose(b.view(x, -100, wide, -1), 0, 2, 1)
	first := b.Do("Expand", b.Weight(0.5, 1, 1, wide), b.Concat(0, b.dim(x, 0), b.Ints(1, 1)))
	x = b.add(b.Concat(1, first, x), b.Weight(0.5, 1, rows, wide))
	for range 12 {
		y := b.view(b.Linear(b.LayerNorm(x, wide), wide, 3*wide), -100, -101, 3, heads, wide/heads)
		y = b.Transpose(y, 2, 0, 3, 1, 4)
		q, k := b.mul(b.at(y, 0, 0), b.Number(0.35355338)), b.mul(b.Transpose(b.at(y, 0, 1), 0, 1, 3, 2), b.Number(0.35355338))
		z := b.Do("MatMul", b.softmax(b.Do("MatMul", q, k), -1), b.at(y, 0, 2))
		z = b.view(b.Transpose(z, 0, 2, 1, 3), -100, -101, wide)
		x = b.add(x, b.Linear(z, wide, wide))
		x = b.add(x, b.Linear(b.GELU(b.Linear(b.LayerNorm(x, wide), wide, 4*wide)), 4*wide, wide))
	}
	b.Output(b.Dense(b.at(b.LayerNorm(x, wide), 1, 0), wide, 1000))
}
