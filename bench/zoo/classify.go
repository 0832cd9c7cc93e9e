package zoo

import "lathe/bench/model"

// head is global pooling and a classifier of ImageNet's 1000 classes.
func head(b *model.Builder, x model.Value, channels int) {
	x = b.Op("Flatten", []model.Value{b.Do("GlobalAveragePool", x)}, model.At("axis", 1))
	b.Output(b.Dense(x, channels, 1000))
}

// stem is ResNet's.
func stem(b *model.Builder) model.Value {
	x := b.ConvBNReLU(b.Input(1, 3, 224, 224), 3, 64, model.Square(7).By(2))
	return b.MaxPool(x, model.Square(3).By(2))
}

// resNeXt50 is ResNeXt-50 32x4d.
func resNeXt50(b *model.Builder) {
	x, in := stem(b), 64
	for stage, blocks := range []int{3, 4, 6, 3} {
		width := 128 << stage
		for i := range blocks {
			stride := 1
			if i == 0 && stage > 0 {
				stride = 2
			}
			y := b.ConvBNReLU(x, in, width, model.Square(1))
			y = b.ConvBNReLU(y, width, width, model.Square(3).By(stride).Grouped(32))
			y = b.ConvBN(y, width, 2*width, model.Square(1))
			if i == 0 {
				x = b.ConvBN(x, in, 2*width, model.Square(1).By(stride))
			}
			x, in = b.Do("Relu", b.Do("Add", y, x)), 2*width
		}
	}
	head(b, x, in)
}

// squeeze is squeeze and excitation: the channels of x are scaled by what a small network makes of their means.
func squeeze(b *model.Builder, x model.Value, channels, inner int) model.Value {
	s := b.Do("Relu", b.ConvBias(b.Do("GlobalAveragePool", x), channels, inner, model.Square(1)))
	return b.Do("Mul", x, b.Do("Sigmoid", b.ConvBias(s, inner, channels, model.Square(1))))
}

// regNetY400MF has groups of 8 channels.
func regNetY400MF(b *model.Builder) {
	x, in := b.ConvBNReLU(b.Input(1, 3, 224, 224), 3, 32, model.Square(3).By(2)), 32
	widths := []int{48, 104, 208, 440}
	for stage, blocks := range []int{1, 3, 6, 6} {
		width := widths[stage]
		for i := range blocks {
			stride := 1
			if i == 0 {
				stride = 2
			}
			y := b.ConvBNReLU(x, in, width, model.Square(1))
			y = b.ConvBNReLU(y, width, width, model.Square(3).By(stride).Grouped(width/8))
			y = b.ConvBN(squeeze(b, y, width, in/4), width, width, model.Square(1))
			if i == 0 {
				x = b.ConvBN(x, in, width, model.Square(1).By(stride))
			}
			x, in = b.Do("Relu", b.Do("Add", y, x)), width
		}
	}
	head(b, x, in)
}

// shuffleNetV1 is the one of width 1 with 3 groups.
func shuffleNetV1(b *model.Builder) {
	x := b.ConvBNReLU(b.Input(1, 3, 224, 224), 3, 24, model.Square(3).By(2))
	x = b.MaxPool(x, model.Square(3).By(2))
	in, size := 24, 56
	for stage, blocks := range []int{4, 8, 4} {
		out := 240 << stage
		for i := range blocks {
			x = ShuffleUnit(b, x, in, out, size, 3, i == 0)
			if i == 0 {
				in, size = out, size/2
			}
		}
	}
	head(b, x, in)
}

// ShuffleUnit is a unit of ShuffleNet; down halves the image and joins the pooled operand. A first layer of 24 channels has no groups.
func ShuffleUnit(b *model.Builder, x model.Value, in, out, size, groups int, down bool) model.Value {
	first, inner := groups, out/4
	if in == 24 {
		first = 1
	}
	y := b.ConvBNReLU(x, in, inner, model.Square(1).Grouped(first))
	y = b.Shuffle(y, groups, inner, size, size)
	if !down {
		y = b.ConvBN(y, inner, inner, model.Square(3).Grouped(inner))
		return b.Do("Relu", b.Do("Add", b.ConvBN(y, inner, out, model.Square(1).Grouped(groups)), x))
	}
	y = b.ConvBN(y, inner, inner, model.Square(3).By(2).Grouped(inner))
	y = b.ConvBN(y, inner, out-in, model.Square(1).Grouped(groups))
	return b.Concat(1, b.AveragePool(x, model.Square(3).By(2)), b.Do("Relu", y))
}

// convNeXtTiny has depthwise kernels of 7, layer normalisation over channels, and GELU.
func convNeXtTiny(s style) func(b *model.Builder) {
	return func(b *model.Builder) {
		t := transformer{b, s}
		widths := []int{96, 192, 384, 768}
		x := t.conv(b.Input(1, 3, 224, 224), 3, 96, model.Window{Kernel: []int{4, 4}, Stride: 4})
		x = normChannels(b, x, 96)
		for stage, blocks := range []int{3, 3, 9, 3} {
			width := widths[stage]
			if stage > 0 {
				x = normChannels(b, x, widths[stage-1])
				x = t.conv(x, widths[stage-1], width, model.Window{Kernel: []int{2, 2}, Stride: 2})
			}
			for range blocks {
				x = t.convNeXt(x, width)
			}
		}
		x = b.Op("Flatten", []model.Value{normChannels(b, b.Do("GlobalAveragePool", x), 768)}, model.At("axis", 1))
		if s == float {
			b.Output(b.Dense(x, 768, 1000))
			return
		}
		b.Output(t.linear(x, 768, 1000))
	}
}

// ConvNeXtBlock is one block of a width.
func ConvNeXtBlock(b *model.Builder, x model.Value, width int) model.Value {
	return transformer{b, float}.convNeXt(x, width)
}

func (t transformer) convNeXt(x model.Value, width int) model.Value {
	y := t.Transpose(t.conv(x, width, width, model.Square(7).Grouped(width)), 0, 2, 3, 1)
	y = t.feedForward(t.LayerNorm(y, width), width, 4*width)
	return t.Do("Add", t.Do("Mul", t.Weight(0.1, width, 1, 1), t.Transpose(y, 0, 3, 1, 2)), x)
}

func normChannels(b *model.Builder, x model.Value, channels int) model.Value {
	return b.Transpose(b.LayerNorm(b.Transpose(x, 0, 2, 3, 1), channels), 0, 3, 1, 2)
}
