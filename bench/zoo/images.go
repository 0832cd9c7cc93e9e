package zoo

import "lathe/bench/model"

// dcgan makes an image of 64x64 from 100 random numbers.
func dcgan(b *model.Builder) {
	x := b.ConvTranspose(b.Input(1, 100, 1, 1), 100, 512, valid(4, 1), false)
	x = b.Do("Relu", b.BatchNorm(x, 512))
	doubled := model.Window{Kernel: []int{4, 4}, Stride: 2, Pad: 1}
	for _, out := range []int{256, 128, 64} {
		x = b.Do("Relu", b.BatchNorm(b.ConvTranspose(x, 2*out, out, doubled, false), out))
	}
	b.Output(b.Do("Tanh", b.ConvTranspose(x, 64, 3, doubled, false)))
}

// uNet segments an image of 256x256.
func uNet(b *model.Builder) {
	twice := func(x model.Value, in, out int) model.Value {
		return b.ConvBNReLU(b.ConvBNReLU(x, in, out, model.Square(3)), out, out, model.Square(3))
	}
	x := twice(b.Input(1, 3, 256, 256), 3, 64)
	var skips []model.Value
	for out := 128; out <= 1024; out *= 2 {
		skips = append(skips, x)
		x = twice(b.MaxPool(x, valid(2, 2)), out/2, out)
	}
	for out := 512; out >= 64; out /= 2 {
		x = b.ConvTranspose(x, 2*out, out, valid(2, 2), true)
		x = twice(b.Concat(1, skips[len(skips)-1], x), 2*out, out)
		skips = skips[:len(skips)-1]
	}
	b.Output(b.ConvBias(x, 64, 1, model.Square(1)))
}

// cycleGAN turns an image of 256x256 into one of another kind: instance normalisation and reflected borders.
func cycleGAN(b *model.Builder) {
	norm := func(x model.Value, channels int) model.Value {
		one, zero := b.Constant(b.Uniform(1, 1, channels)), b.Constant(b.Uniform(0, 0, channels))
		return b.Op("InstanceNormalization", []model.Value{x, one, zero})
	}
	reflect := func(x model.Value, n int) model.Value {
		return b.Op("Pad", []model.Value{x, b.Ints(0, 0, n, n, 0, 0, n, n)}, model.At("mode", "reflect"))
	}
	x := b.ConvBias(reflect(b.Input(1, 3, 256, 256), 3), 3, 64, valid(7, 1))
	x = b.Do("Relu", norm(x, 64))
	for _, out := range []int{128, 256} {
		x = b.Do("Relu", norm(b.ConvBias(x, out/2, out, model.Square(3).By(2)), out))
	}
	for range 9 {
		y := b.Do("Relu", norm(b.ConvBias(reflect(x, 1), 256, 256, valid(3, 1)), 256))
		x = b.Do("Add", x, norm(b.ConvBias(reflect(y, 1), 256, 256, valid(3, 1)), 256))
	}
	for _, out := range []int{128, 64} {
		up := model.Window{Kernel: []int{3, 3}, Stride: 2, Pad: 1, Out: []int{1, 1}}
		x = b.Do("Relu", norm(b.ConvTranspose(x, 2*out, out, up, true), out))
	}
	b.Output(b.Do("Tanh", b.ConvBias(reflect(x, 3), 64, 3, valid(7, 1))))
}

// edsrBaseline doubles an image of 96x96: residual blocks without normalisation, and a pixel shuffle by transposition.
func edsrBaseline(b exporter) {
	x := b.conv(b.Input(1, 3, 96, 96), 3, 64, 3, 1, 1)
	y := x
	for range 16 {
		z := b.conv(b.relu(b.conv(y, 64, 64, 3, 1, 1)), 64, 64, 3, 1, 1)
		y = b.add(b.mul(z, b.Number(0.1)), y)
	}
	y = b.add(b.conv(y, 64, 64, 3, 1, 1), x)
	y = b.shuffleUp(b.conv(y, 64, 256, 3, 1, 1), 64, 2, 96)
	b.Output(b.conv(y, 64, 3, 3, 1, 1))
}

// shuffleUp makes squares of r pixels of r·r channels.
func (b exporter) shuffleUp(x model.Value, c, r, size int) model.Value {
	x = b.Transpose(b.Reshape(x, 1, c, r, r, size, size), 0, 1, 4, 2, 5, 3)
	return b.Reshape(x, 1, c, size*r, size*r)
}
