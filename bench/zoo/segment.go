package zoo

import (
	"math"

	"lathe/bench/model"
)

// likeSize is x in the size of another image by bilinear interpolation, as interpolate is exported: of shapes that are computed.
func (b exporter) likeSize(x, other model.Value) model.Value {
	size := b.Op("Cast", []model.Value{b.Slice(b.Do("Shape", other), 0, 2, 4, 1)}, model.At("to", 7))
	sizes := b.Concat(0, b.Slice(b.Do("Shape", x), 0, 0, 2, 1), size)
	return b.Op("Resize", []model.Value{x, model.Absent, model.Absent, sizes}, model.At("coordinate_transformation_mode", "pytorch_half_pixel"),
		model.At("cubic_coeff_a", -0.75), model.At("mode", "linear"), model.At("nearest_mode", "floor"))
}

// dilated is a square convolution with a bias that keeps sizes.
func (b exporter) dilated(x model.Value, in, out, k, by, groups int) model.Value {
	return b.ConvBias(x, in, out, model.Window{Kernel: []int{k, k}, Pad: k / 2 * by, Dilate: by, Group: groups})
}

// deepLabV3MobileNet segments an image of 256x256 into 21 classes: MobileNetV3 whose last stage is dilated, and dilated convolutions
// whose kernels are wider than the map (Chen et al. 2017; torchvision's deeplabv3_mobilenet_v3_large without the auxiliary head).
func deepLabV3MobileNet(b exporter) {
	image := b.Input(1, 3, 256, 256)
	x := b.dilatedMobileNet(image)
	x = b.relu(b.conv(b.atrous(x, 960), 256, 256, 3, 1, 1))
	b.Output(b.likeSize(b.conv(x, 256, 21, 1, 1, 1), image))
}

// dilatedMobileNet is the trunk, whose last three blocks have a dilation of 2 and no stride.
func (b exporter) dilatedMobileNet(x model.Value) model.Value {
	hs := func(v model.Value) model.Value { return b.Do("HardSwish", v) }
	x = hs(b.conv(x, 3, 16, 3, 2, 1))
	in := 16
	for i, c := range []inverted{{3, 16, 16, false, false, 1}, {3, 64, 24, false, false, 2}, {3, 72, 24, false, false, 1}, {5, 72, 40, true, false, 2},
		{5, 120, 40, true, false, 1}, {5, 120, 40, true, false, 1}, {3, 240, 80, false, true, 2}, {3, 200, 80, false, true, 1}, {3, 184, 80, false, true, 1},
		{3, 184, 80, false, true, 1}, {3, 480, 112, true, true, 1}, {3, 672, 112, true, true, 1}, {5, 672, 160, true, true, 2}, {5, 960, 160, true, true, 1}, {5, 960, 160, true, true, 1}} {
		act := b.relu
		if c.hs {
			act = hs
		}
		y := x
		if c.exp != in {
			y = act(b.conv(y, in, c.exp, 1, 1, 1))
		}
		if i >= 12 {
			y = act(b.dilated(y, c.exp, c.exp, c.k, 2, c.exp))
		} else {
			y = act(b.conv(y, c.exp, c.exp, c.k, c.s, c.exp))
		}
		if c.se {
			q := (c.exp/4 + 4) / 8 * 8
			s := b.conv(b.relu(b.conv(b.pool(y), c.exp, q, 1, 1, 1)), q, c.exp, 1, 1, 1)
			y = b.mul(b.Op("HardSigmoid", []model.Value{s}, model.At("alpha", 1.0/6)), y)
		}
		y = b.conv(y, c.exp, c.out, 1, 1, 1)
		if c.s == 1 && in == c.out {
			y = b.add(y, x)
		}
		x, in = y, c.out
	}
	return hs(b.conv(x, 160, 960, 1, 1, 1))
}

// atrous is the pyramid: a point, three dilations and the mean of the map, joined into 256 channels.
func (b exporter) atrous(x model.Value, in int) model.Value {
	parts := []model.Value{b.relu(b.conv(x, in, 256, 1, 1, 1))}
	for _, by := range []int{12, 24, 36} {
		parts = append(parts, b.relu(b.dilated(x, in, 256, 3, by, 1)))
	}
	mean := b.relu(b.conv(b.pool(x), in, 256, 1, 1, 1))
	parts = append(parts, b.likeSize(mean, x))
	return b.relu(b.conv(b.Concat(1, parts...), 5*256, 256, 1, 1, 1))
}

// segFormerB0 segments an image of 512x512 into 150 classes, at a quarter of its size: transformers of four resolutions whose keys and
// values are of reduced maps (Xie et al. 2021; Hugging Face's nvidia/segformer-b0-finetuned-ade-512-512).
func segFormerB0(b exporter) {
	x, in := b.Input(1, 3, 512, 512), 3
	var maps []model.Value
	for st, out := range []int{32, 64, 160, 256} {
		k, s := 3, 2
		if st == 0 {
			k, s = 7, 4
		}
		image := b.conv(x, in, out, k, s, 1)
		y := b.ln(b.places(image), out)
		for range 2 {
			y = b.add(b.reducedAttention(b.ln(y, out), image, out, []int{1, 2, 5, 8}[st], []int{8, 4, 2, 1}[st]), y)
			y = b.add(b.mixFFN(b.ln(y, out), image, out), y)
		}
		y = b.Do("Reshape", b.ln(y, out), b.Concat(0, b.dim(image, 0), b.dim(image, 2), b.dim(image, 3), b.Ints(-1)))
		x, in = b.Transpose(y, 0, 3, 1, 2), out
		maps = append(maps, x)
	}
	b.segFormerHead(maps)
}

// places is an image as a list of places, by flatten and transpose.
func (b exporter) places(x model.Value) model.Value {
	shape := b.Concat(0, b.Slice(b.Do("Shape", x), 0, 0, 2, 1), b.Ints(-1))
	return b.Transpose(b.Do("Reshape", x, shape), 0, 2, 1)
}

// asImage is a list of places as an image of the size of another.
func (b exporter) asImage(x, other model.Value, channels int) model.Value {
	shape := b.Concat(0, b.dim(x, 0), b.Ints(channels), b.dim(other, 2), b.dim(other, 3))
	return b.Do("Reshape", b.Transpose(x, 0, 2, 1), shape)
}

// reducedAttention is attention over a map that a convolution has made smaller by the ratio in both directions.
func (b exporter) reducedAttention(x, image model.Value, wide, heads, ratio int) model.Value {
	size := wide / heads
	split := func(v model.Value) model.Value {
		return b.Transpose(b.view(v, -100, -101, heads, size), 0, 2, 1, 3)
	}
	q, y := split(b.Linear(x, wide, wide)), x
	if ratio > 1 {
		y = b.asImage(x, image, wide)
		y = b.ConvBias(y, wide, wide, model.Window{Kernel: []int{ratio, ratio}, Stride: ratio})
		y = b.ln(b.Transpose(b.view(y, -100, wide, -1), 0, 2, 1), wide)
	}
	k, v := split(b.Linear(y, wide, wide)), split(b.Linear(y, wide, wide))
	s := b.Do("Div", b.Do("MatMul", q, b.Transpose(k, 0, 1, 3, 2)), b.Number(float32(math.Sqrt(float64(size)))))
	z := b.Transpose(b.Do("MatMul", b.softmax(s, -1), v), 0, 2, 1, 3)
	return b.Linear(b.view(z, -100, -101, wide), wide, wide)
}

// mixFFN is two linear layers around a depthwise convolution and GELU.
func (b exporter) mixFFN(x, image model.Value, wide int) model.Value {
	y := b.asImage(b.Linear(x, wide, 4*wide), image, 4*wide)
	y = b.places(b.conv(y, 4*wide, 4*wide, 3, 1, 4*wide))
	return b.Linear(b.GELU(y), 4*wide, wide)
}

// segFormerHead brings all maps to the size of the first, which is resized too, and joins them from the smallest.
func (b exporter) segFormerHead(maps []model.Value) {
	var parts []model.Value
	for i, c := range []int{32, 64, 160, 256} {
		y := b.asImage(b.Linear(b.places(maps[i]), c, 256), maps[i], 256)
		parts = append([]model.Value{b.likeSize(y, maps[0])}, parts...)
	}
	x := b.relu(b.conv(b.Concat(1, parts...), 4*256, 256, 1, 1, 1))
	b.Output(b.conv(x, 256, 150, 1, 1, 1))
}
