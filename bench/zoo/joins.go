package zoo

import (
	"math"

	"lathe/bench/model"
)

// squeezeNet11 joins convolutions of 1x1 and 3x3, and classifies by a convolution (Iandola et al. 2016; torchvision's squeezenet1_1).
func squeezeNet11(b exporter) {
	x := b.relu(b.ConvBias(b.Input(1, 3, 224, 224), 3, 64, valid(3, 2)))
	in := 64
	for i, c := range []int{16, 16, 32, 32, 48, 48, 64, 64} {
		if i == 0 || i == 2 || i == 4 {
			x = b.MaxPool(x, valid(3, 2))
		}
		wide := c * 4
		x = b.relu(b.conv(x, in, c, 1, 1, 1))
		x = b.Concat(1, b.relu(b.conv(x, c, wide, 1, 1, 1)), b.relu(b.conv(x, c, wide, 3, 1, 1)))
		in = 2 * wide
	}
	x = b.pool(b.relu(b.conv(x, 512, 1000, 1, 1, 1)))
	b.Output(b.Op("Flatten", []model.Value{x}, model.At("axis", 1)))
}

// denseNet121 joins what each layer gives with all before it; normalisations stand before convolutions, so that those of joins cannot be
// folded (Huang et al. 2017; torchvision's densenet121).
func denseNet121(b *model.Builder) {
	const growth = 32
	x, in := stem(b), 64
	for block, layers := range []int{6, 12, 24, 16} {
		for range layers {
			y := b.Do("Relu", b.BatchNorm(x, in))
			y = b.ConvBNReLU(y, in, 4*growth, model.Square(1))
			x, in = b.Concat(1, x, b.Conv(y, 4*growth, growth, model.Square(3))), in+growth
		}
		if block < 3 {
			x = b.Conv(b.Do("Relu", b.BatchNorm(x, in)), in, in/2, model.Square(1))
			x, in = b.AveragePool(x, valid(2, 2)), in/2
		}
	}
	head(b, b.Do("Relu", b.BatchNorm(x, in)), in)
}

// efficientNetB0 has inverted bottlenecks with squeeze and excitation and SiLU (Tan and Le 2019; torchvision's efficientnet_b0).
func efficientNetB0(b exporter) {
	x, in := b.SiLU(b.conv(b.Input(1, 3, 224, 224), 3, 32, 3, 2, 1)), 32
	for _, c := range [][5]int{{1, 1, 3, 16, 1}, {2, 6, 3, 24, 2}, {2, 6, 5, 40, 2}, {3, 6, 3, 80, 2}, {3, 6, 5, 112, 1}, {4, 6, 5, 192, 2}, {1, 6, 3, 320, 1}} {
		n, wider, k, out, stride := c[0], c[1], c[2], c[3], c[4]
		for i := range n {
			s := 1
			if i == 0 {
				s = stride
			}
			y, w := x, in*wider
			if wider > 1 {
				y = b.SiLU(b.conv(y, in, w, 1, 1, 1))
			}
			y = b.SiLU(b.conv(y, w, w, k, s, w))
			y = b.project(b.excite(y, w, in/4), w, out)
			if s == 1 && in == out {
				y = b.add(y, x)
			}
			x, in = y, out
		}
	}
	b.head(b.SiLU(b.conv(x, 320, 1280, 1, 1, 1)), 1280, 1000)
}

// darknet19 is the classifier of YOLOv2, whose ReLUs have a slope (Redmon and Farhadi 2016; pjreddie's darknet19).
func darknet19(b exporter) {
	x, in := b.Input(1, 3, 224, 224), 3
	for st, layers := range [][]int{{32}, {64}, {128, -64, 128}, {256, -128, 256}, {512, -256, 512, -256, 512}, {1024, -512, 1024, -512, 1024}} {
		if st > 0 {
			x = b.MaxPool(x, valid(2, 2))
		}
		for _, out := range layers {
			k := 3
			if out < 0 { // a bottleneck
				k, out = 1, -out
			}
			x, in = b.leaky(b.BatchNorm(b.Conv(x, in, out, model.Square(k)), out), 0.1), out
		}
	}
	w := b.Weight(math.Sqrt(1/float64(in)), 1000, in, 1, 1)
	x = b.pool(b.Op("Conv", []model.Value{x, w, b.Weight(0.1, 1000)}, model.Square(1).Attrs()...))
	b.Output(b.Op("Flatten", []model.Value{x}, model.At("axis", 1)))
}

// mobileNetV3Small has hard swishes in their parts, which are quantised one by one (Howard et al. 2019; torchvision's mobilenet_v3_small).
func mobileNetV3Small(b exporter) {
	x, in := b.hswish(b.conv(b.Input(1, 3, 224, 224), 3, 16, 3, 2, 1)), 16
	for _, c := range []inverted{{3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1}, {5, 96, 40, true, true, 2},
		{5, 240, 40, true, true, 1}, {5, 240, 40, true, true, 1}, {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},
		{5, 288, 96, true, true, 2}, {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}} {
		project := func(y model.Value) model.Value { return b.project(y, c.exp, c.out) }
		x, in = b.inverted(x, in, c, project), c.out
	}
	x = b.pool(b.hswish(b.conv(x, 96, 576, 1, 1, 1)))
	x = b.Op("Flatten", []model.Value{x}, model.At("axis", 1))
	b.Output(b.Dense(b.hswish(b.Dense(x, 576, 1024)), 1024, 1000))
}

// hardGate is squeeze and excitation by a hard sigmoid.
func (b exporter) hardGate(x model.Value, channels, inner int) model.Value {
	s := b.relu(b.conv(b.pool(x), channels, inner, 1, 1, 1))
	return b.Op("HardSigmoid", []model.Value{b.conv(s, inner, channels, 1, 1, 1)}, model.At("alpha", 1.0/6))
}
