package zoo

import "lathe/bench/model"

// kernel is a window of any size with its own padding of each axis, at stride 1.
func kernel(h, w int) model.Window {
	return model.Window{Kernel: []int{h, w}, Pads: []int{h / 2, w / 2, h / 2, w / 2}}
}

// valid is a square window without padding.
func valid(size, stride int) model.Window {
	return model.Window{Kernel: []int{size, size}, Stride: stride}
}

// step is one convolution of a branch.
type step struct {
	out    int
	window model.Window
}

// branch is a chain of convolutions with normalisation and ReLU.
func branch(b *model.Builder, x model.Value, in int, steps ...step) model.Value {
	for _, s := range steps {
		x, in = b.ConvBNReLU(x, in, s.out, s.window), s.out
	}
	return x
}

func inceptionV3(b *model.Builder) {
	x := branch(b, b.Input(1, 3, 299, 299), 3, step{32, valid(3, 2)}, step{32, valid(3, 1)}, step{64, kernel(3, 3)})
	x = b.MaxPool(x, valid(3, 2))
	x = branch(b, x, 64, step{80, valid(1, 1)}, step{192, valid(3, 1)})
	x = b.MaxPool(x, valid(3, 2))
	in := 192
	for _, pool := range []int{32, 64, 64} {
		x, in = inceptionA(b, x, in, pool), 224+pool
	}
	x, in = inceptionB(b, x, in), in+480
	for _, inner := range []int{128, 160, 160, 192} {
		x = inceptionC(b, x, in, inner)
	}
	x, in = inceptionD(b, x, in), in+512
	for range 2 {
		x, in = inceptionE(b, x, in), 2048
	}
	head(b, x, in)
}

func inceptionA(b *model.Builder, x model.Value, in, pool int) model.Value {
	return b.Concat(1,
		branch(b, x, in, step{64, kernel(1, 1)}),
		branch(b, x, in, step{48, kernel(1, 1)}, step{64, kernel(5, 5)}),
		branch(b, x, in, step{64, kernel(1, 1)}, step{96, kernel(3, 3)}, step{96, kernel(3, 3)}),
		branch(b, b.AveragePool(x, kernel(3, 3)), in, step{pool, kernel(1, 1)}))
}

func inceptionB(b *model.Builder, x model.Value, in int) model.Value {
	return b.Concat(1,
		branch(b, x, in, step{384, valid(3, 2)}),
		branch(b, x, in, step{64, kernel(1, 1)}, step{96, kernel(3, 3)}, step{96, valid(3, 2)}),
		b.MaxPool(x, valid(3, 2)))
}

func inceptionC(b *model.Builder, x model.Value, in, c int) model.Value {
	return b.Concat(1,
		branch(b, x, in, step{192, kernel(1, 1)}),
		branch(b, x, in, step{c, kernel(1, 1)}, step{c, kernel(1, 7)}, step{192, kernel(7, 1)}),
		branch(b, x, in, step{c, kernel(1, 1)}, step{c, kernel(7, 1)}, step{c, kernel(1, 7)}, step{c, kernel(7, 1)}, step{192, kernel(1, 7)}),
		branch(b, b.AveragePool(x, kernel(3, 3)), in, step{192, kernel(1, 1)}))
}

func inceptionD(b *model.Builder, x model.Value, in int) model.Value {
	return b.Concat(1,
		branch(b, x, in, step{192, kernel(1, 1)}, step{320, valid(3, 2)}),
		branch(b, x, in, step{192, kernel(1, 1)}, step{192, kernel(1, 7)}, step{192, kernel(7, 1)}, step{192, valid(3, 2)}),
		b.MaxPool(x, valid(3, 2)))
}

func inceptionE(b *model.Builder, x model.Value, in int) model.Value {
	fork := func(x model.Value, in int) model.Value {
		return b.Concat(1, branch(b, x, in, step{384, kernel(1, 3)}), branch(b, x, in, step{384, kernel(3, 1)}))
	}
	return b.Concat(1,
		branch(b, x, in, step{320, kernel(1, 1)}),
		fork(branch(b, x, in, step{384, kernel(1, 1)}), 384),
		fork(branch(b, x, in, step{448, kernel(1, 1)}, step{384, kernel(3, 3)}), 384),
		branch(b, b.AveragePool(x, kernel(3, 3)), in, step{192, kernel(1, 1)}))
}
