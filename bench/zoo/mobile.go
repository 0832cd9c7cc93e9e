package zoo

import (
	"lathe/bench/model"
	"lathe/internal/tensor"
)

// An inverted bottleneck: kernel, channels inside and out, squeeze, hard swish, stride.
type inverted struct {
	k, exp, out int
	se, hs      bool
	s           int
}

// mobilenetV3 is the large one: squeeze and excitation by hard sigmoids, hard swish.
func mobileNetV3(b exporter) {
	x := b.hswish(b.conv(b.Input(1, 3, 224, 224), 3, 16, 3, 2, 1))
	in := 16
	for _, c := range []inverted{{3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1}, {5, 72, 40, true, false, 2},
		{5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1}, {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
		{3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1}, {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1}} {
		project := func(y model.Value) model.Value { return b.conv(y, c.exp, c.out, 1, 1, 1) }
		x, in = b.inverted(x, in, c, project), c.out
	}
	x = b.hswish(b.conv(x, 160, 960, 1, 1, 1))
	x = b.Op("Flatten", []model.Value{b.pool(x)}, model.At("axis", 1))
	b.Output(b.Dense(b.hswish(b.Dense(x, 960, 1280)), 1280, 1000))
}

// inverted is such a bottleneck; project gives its channels.
func (b exporter) inverted(x model.Value, in int, c inverted, project func(y model.Value) model.Value) model.Value {
	act := b.relu
	if c.hs {
		act = b.hswish
	}
	y := x
	if c.exp != in {
		y = act(b.conv(y, in, c.exp, 1, 1, 1))
	}
	y = act(b.conv(y, c.exp, c.exp, c.k, c.s, c.exp))
	if c.se {
		y = b.mul(b.hardGate(y, c.exp, (c.exp/4+4)/8*8), y)
	}
	if y = project(y); c.s == 1 && in == c.out {
		y = b.add(y, x)
	}
	return y
}

// mv2 is an inverted bottleneck of MobileViT.
func (b exporter) mv2(x model.Value, in, out, s int) model.Value {
	w := in * 4
	y := b.SiLU(b.conv(x, in, w, 1, 1, 1))
	y = b.conv(b.SiLU(b.conv(y, w, w, 3, s, w)), w, out, 1, 1, 1)
	if s == 1 && in == out {
		y = b.add(y, x)
	}
	return y
}

// vitBlock is a transformer over the places of an image, four interleaved sets of them, between convolutions.
func (b exporter) vitBlock(x model.Value, c, d, depth, size int) model.Value {
	y := b.conv(b.SiLU(b.conv(x, c, c, 3, 1, 1)), c, d, 1, 1, 1)
	h := size / 2
	y = b.Transpose(b.Reshape(y, d*h, 2, h, 2), 0, 2, 1, 3)
	y = b.Transpose(b.Reshape(y, 1, d, h*h, 4), 0, 3, 2, 1)
	y = b.Reshape(y, 4, h*h, d)
	for range depth {
		z := b.ln(y, d)
		qkv := b.Transpose(b.Reshape(b.Linear(z, d, 3*d), 4, h*h, 3, 4, d/4), 2, 0, 3, 1, 4)
		get := func(i int) model.Value {
			return b.Op("Gather", []model.Value{qkv, b.Constant(tensor.Scalar(int64(i)))}, model.At("axis", 0))
		}
		s := b.softmax(b.mul(b.Do("MatMul", get(0), b.Transpose(get(1), 0, 1, 3, 2)), b.Number(0.17)), -1)
		o := b.Reshape(b.Transpose(b.Do("MatMul", s, get(2)), 0, 2, 1, 3), 4, h*h, d)
		y = b.add(b.Linear(o, d, d), y)
		y = b.add(b.Linear(b.SiLU(b.Linear(b.ln(y, d), d, 2*d)), 2*d, d), y)
	}
	y = b.Transpose(b.Reshape(b.ln(y, d), 1, 4, h*h, d), 0, 3, 2, 1)
	y = b.Transpose(b.Reshape(y, d*h, h, 2, 2), 0, 2, 1, 3)
	y = b.Reshape(y, 1, d, size, size)
	y = b.SiLU(b.conv(y, d, c, 1, 1, 1))
	return b.SiLU(b.conv(b.Concat(1, x, y), 2*c, c, 3, 1, 1))
}

// mobileViTS has transformers of 144 to 240 numbers, whose gates are sigmoids.
func mobileViTS(b exporter) {
	x := b.SiLU(b.conv(b.Input(1, 3, 256, 256), 3, 16, 3, 2, 1))
	x = b.mv2(x, 16, 32, 1)
	x = b.mv2(b.mv2(b.mv2(x, 32, 64, 2), 64, 64, 1), 64, 64, 1)
	x = b.vitBlock(b.mv2(x, 64, 96, 2), 96, 144, 2, 32)
	x = b.vitBlock(b.mv2(x, 96, 128, 2), 128, 192, 4, 16)
	x = b.vitBlock(b.mv2(x, 128, 160, 2), 160, 240, 3, 8)
	b.head(b.SiLU(b.conv(x, 160, 640, 1, 1, 1)), 640, 1000)
}

// poolFormerS12 mixes places by poolings, and normalises images by one group.
func poolFormerS12(b exporter) {
	x, in := b.Input(1, 3, 224, 224), 3
	for st, n := range []int{2, 2, 6, 2} {
		out := []int{64, 128, 320, 512}[st]
		if st == 0 {
			x = b.ConvBias(x, 3, 64, model.Window{Kernel: []int{7, 7}, Stride: 4, Pad: 2})
		} else {
			x = b.ConvBias(x, in, out, model.Window{Kernel: []int{3, 3}, Stride: 2, Pad: 1})
		}
		in = out
		for range n {
			y := b.gn(x, 1, in)
			p := b.Op("AveragePool", []model.Value{y}, model.At("kernel_shape", []int{3, 3}), model.At("strides", []int{1, 1}), model.At("pads", []int{1, 1, 1, 1}))
			x = b.add(x, b.mul(b.Weight(0.1, in, 1, 1), b.Do("Sub", p, y)))
			z := b.conv(b.GELU(b.conv(b.gn(x, 1, in), in, 4*in, 1, 1, 1)), 4*in, in, 1, 1, 1)
			x = b.add(x, b.mul(b.Weight(0.1, in, 1, 1), z))
		}
	}
	b.Output(b.Dense(b.mean(b.gn(x, 1, in), 0, -2, -1), 512, 1000))
}
