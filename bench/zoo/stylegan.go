package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// styleGAN is StyleGAN2's generator: the weights of its convolutions are scaled by what a small network makes of the input.
type styleGAN struct {
	exporter
	style model.Value
}

// styleWide is the width of styles.
const styleWide = 512

// styleGAN2 makes a picture of 128x128 (Karras et al. 2020; rosinality/stylegan2-pytorch with half of the channels, multiplier 1).
func styleGAN2(b exporter) {
	g := styleGAN{b, b.Input(1, styleWide)}
	g.mapping()
	x, in := g.Do("Expand", g.Weight(1, 1, 256, 4, 4), g.Ints(1, 256, 4, 4)), 256
	x = g.styled(x, in, in, 4, false)
	skip := g.rgb(x, in, 4, model.Absent)
	for side := 8; side <= 128; side *= 2 {
		out := min(256, 256*32/side)
		x = g.styled(x, in, out, side, true)
		x = g.styled(x, out, out, side, false)
		skip, in = g.rgb(x, out, side, skip), out
	}
	g.Output(skip)
}

// mapping makes the style of the input, by layers whose weights are trained a hundred times as large.
func (g *styleGAN) mapping() {
	x := g.style
	square := g.mean(g.Do("Pow", x, g.Number(2)), 1, 1)
	x = g.mul(x, g.Do("Reciprocal", g.Do("Sqrt", g.add(square, g.Number(1e-8)))))
	for range 8 {
		w := g.mul(g.Weight(100, styleWide, styleWide), g.Number(0.01/22.627417))
		x = g.Do("MatMul", x, g.Transpose(w, 1, 0))
		x = g.act(g.add(x, g.mul(g.Weight(10, styleWide), g.Number(0.01))))
	}
	g.style = x
}

// act is the leaky ReLU that keeps the size of values.
func (g styleGAN) act(x model.Value) model.Value {
	return g.mul(g.leaky(x, 0.2), g.Number(math.Sqrt2))
}

// modulated is the weights [1, out, in, k, k] for this style.
func (g styleGAN) modulated(in, out, k int, demodulate bool) model.Value {
	w := g.mul(g.Weight(1/math.Sqrt(styleWide), in, styleWide), g.Number(1))
	g.Parameters += in
	s := g.add(g.Do("MatMul", g.style, g.Transpose(w, 1, 0)), g.Constant(g.Uniform(0.9, 1.1, in)))
	s = g.view(s, -100, 1, in, 1, 1)
	y := g.mul(g.mul(g.Weight(1, 1, out, in, k, k), g.Number(float32(1/math.Sqrt(float64(in*k*k))))), s)
	if demodulate {
		n := g.Do("Reciprocal", g.Do("Sqrt", g.add(g.sum(g.Do("Pow", y, g.Number(2))), g.Number(1e-8))))
		y = g.mul(y, g.Reshape(n, 1, out, 1, 1, 1))
	}
	return y
}

// sum is one over all but the first two axes.
func (g styleGAN) sum(x model.Value) model.Value {
	return g.Op("ReduceSum", []model.Value{x, g.Ints(2, 3, 4)}, model.At("keepdims", 0))
}

// styled is a convolution of modulated weights with noise, at double the size if up is set; side is that of the result.
func (g styleGAN) styled(x model.Value, in, out, side int, up bool) model.Value {
	w := g.modulated(in, out, 3, true)
	if up {
		w = g.Reshape(g.Transpose(w, 0, 2, 1, 3, 4), in, out, 3, 3)
		x = g.view(x, 1, in, side/2, side/2)
		x = g.Op("ConvTranspose", []model.Value{x, w}, model.Window{Kernel: []int{3, 3}, Stride: 2}.Attrs()...)
		x = g.fir(g.view(x, -100, out, side+1, side+1), out, side+1, 1, 1, 1)
	} else {
		x = g.view(x, 1, in, side, side)
		x = g.Op("Conv", []model.Value{x, g.Reshape(w, out, in, 3, 3)}, model.Square(3).Attrs()...)
		x = g.view(x, -100, out, side, side)
	}
	x = g.add(x, g.mul(g.Weight(0.1, 1), g.Constant(g.Normal(1, 1, 1, side, side))))
	return g.act(g.add(x, g.Weight(0.1, 1, out, 1, 1)))
}

// rgb is the picture so far, with that of half the size.
func (g styleGAN) rgb(x model.Value, in, side int, skip model.Value) model.Value {
	w := g.Reshape(g.modulated(in, 3, 1, false), 3, in, 1, 1)
	y := g.Op("Conv", []model.Value{g.view(x, 1, in, side, side), w}, model.Square(1).Attrs()...)
	y = g.add(g.view(y, -100, 3, side, side), g.Weight(0.1, 1, 3, 1, 1))
	if skip != model.Absent {
		y = g.add(y, g.fir(skip, 3, side/2, 2, 2, 1))
	}
	return y
}

// fir filters an image with zeros between its places: upfirdn2d in PyTorch's own operators, which takes channels as a batch.
func (g styleGAN) fir(x model.Value, channels, side, up, before, after int) model.Value {
	wide := side*up + before + after
	x = g.Reshape(x, -1, side, side, 1)
	x = g.Reshape(x, -1, side, 1, side, 1, 1)
	x = g.Do("Pad", x, g.Ints(0, 0, 0, 0, 0, 0, 0, 0, up-1, 0, up-1, 0))
	x = g.Reshape(x, -1, side*up, side*up, 1)
	x = g.Do("Pad", x, g.Ints(0, before, before, 0, 0, after, after, 0))
	x = g.Slice(g.Slice(x, 1, 0, wide, 1), 2, 0, wide, 1)
	x = g.Reshape(g.Transpose(x, 0, 3, 1, 2), -1, 1, wide, wide)
	taps := make([]float32, 16)
	for i := range taps {
		taps[i] = []float32{1, 3, 3, 1}[i/4] * []float32{1, 3, 3, 1}[i%4] / 16
	}
	x = g.Op("Conv", []model.Value{x, g.Constant(tensor.Of([]int{1, 1, 4, 4}, taps))}, model.Window{Kernel: []int{4, 4}}.Attrs()...)
	x = g.Transpose(g.Reshape(x, -1, 1, wide-3, wide-3), 0, 2, 3, 1)
	x = g.Slice(g.Slice(x, 1, 0, math.MaxInt64, 1), 2, 0, math.MaxInt64, 1)
	return g.Reshape(x, -1, channels, wide-3, wide-3)
}
