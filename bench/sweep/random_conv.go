package sweep

import (
	"fmt"

	"lathe/bench/model"
)

// windowed draws until a convolution is small enough. The image has so many axes; groups gives a number of groups and channels that
// it divides.
func (d dice) windowed(axes, largest int, kernels []int, groups func() (groups, in, out int)) (in shape, out int, w model.Window) {
	for {
		g, ci, co := groups()
		w = model.Window{Stride: pick(d, 1, 1, 1, 2, 2, 3), Dilate: pick(d, 1, 1, 1, 1, 2, 3), Group: g}
		in = shape{d.batch(), ci}
		taps, places := 1, in[0]
		side, kernel := d.size(3, largest), pick(d, kernels...)
		for range axes {
			if d.chance(25) { // not a square
				side = d.size(3, largest)
			}
			if d.chance(15) {
				kernel = pick(d, kernels...)
			}
			in, w.Kernel = append(in, side), append(w.Kernel, kernel)
		}
		if w.Dilate > 1 {
			w.Stride = 1
		}
		w.Pads = make([]int, 2*axes)
		fits := true
		for i, k := range w.Kernel {
			wide := (k-1)*w.Dilate + 1
			if d.chance(80) {
				w.Pads[i], w.Pads[axes+i] = wide/2, wide/2
			} else if d.chance(50) {
				w.Pads[axes+i] = wide / 2
			}
			n := in[2+i] + w.Pads[i] + w.Pads[axes+i] - wide
			fits = fits && n >= 0
			taps, places = taps*k, places*(n/w.Stride+1)
		}
		work := taps * places * ci / g * co
		if fits && work <= mostProducts && work >= 1<<14 && elements(in) <= mostElements && places*co <= mostElements {
			return in, co, w
		}
	}
}

// spelled is a window without blanks, such as k3x3s2p1x1x1x1.
func spelled(w model.Window) string {
	s := fmt.Sprintf("k%ss%dp%s", joined(w.Kernel), w.Stride, joined(w.Pads))
	if w.Dilate > 1 {
		s += fmt.Sprintf("d%d", w.Dilate)
	}
	if w.Group > 1 {
		s += fmt.Sprintf("g%d", w.Group)
	}
	return s
}

// convolution is a drawn one alone, with an activation behind it, or between two others.
func (d dice) convolution(in shape, out int, w model.Window) Case {
	how := pick(d, "bias", "relu", "silu", "wrap")
	return named(how+"_"+spelled(w), []any{in, out}, func(b *model.Builder) model.Value {
		x := b.Input(in...)
		switch how {
		case "relu":
			return b.ConvBNReLU(x, in[1], out, w)
		case "silu":
			return b.SiLU(b.ConvBN(x, in[1], out, w))
		case "wrap":
			one := model.Window{Kernel: make([]int, len(w.Kernel))}
			for i := range one.Kernel {
				one.Kernel[i] = 1
			}
			x = b.ConvBNReLU(x, in[1], in[1], one)
			return b.ConvBias(b.ConvBNReLU(x, in[1], out, w), out, out, one)
		}
		return b.ConvBias(x, in[1], out, w)
	})
}

func (d dice) dense() (groups, in, out int) { return 1, d.size(1, 768), d.size(1, 768) }

func (d dice) conv2d() Case {
	return d.convolution(d.windowed(2, 256, []int{1, 1, 1, 2, 3, 3, 3, 3, 4, 5, 7}, d.dense))
}

func (d dice) conv1d() Case {
	return d.convolution(d.windowed(1, 8000, []int{1, 2, 3, 3, 5, 7, 9, 15}, d.dense))
}

func (d dice) conv3d() Case {
	return d.convolution(d.windowed(3, 48, []int{1, 2, 3, 3, 3}, d.dense))
}

func (d dice) depthwise() Case {
	axes := pick(d, 1, 2, 2, 2, 3)
	return d.convolution(d.windowed(axes, []int{4000, 160, 32}[axes-1], []int{2, 3, 3, 3, 4, 5, 7, 9}, func() (int, int, int) {
		channels := d.size(2, 768)
		return channels, channels, channels * pick(d, 1, 1, 1, 2)
	}))
}

func (d dice) grouped() Case {
	axes := pick(d, 1, 2, 2, 2)
	return d.convolution(d.windowed(axes, []int{2000, 96}[axes-1], []int{1, 3, 3, 5}, func() (int, int, int) {
		g := d.size(2, 32)
		return g, g * d.size(2, 64), g * d.size(2, 64)
	}))
}

func (d dice) convTranspose() Case {
	for {
		axes := pick(d, 1, 2, 2, 3)
		kernel := pick(d, 2, 3, 4, 4, 5, 8)
		w := model.Window{Stride: pick(d, 1, 2, 2, min(4, kernel))}
		w.Pad = d.IntN(kernel/2 + 1)
		in, out := shape{d.batch(), d.size(1, 512)}, d.size(1, 512)
		places := in[0]
		taps := 1
		for range axes {
			in, w.Kernel = append(in, d.size(2, []int{2000, 64, 16}[axes-1])), append(w.Kernel, kernel)
			places, taps = places*in[len(in)-1], taps*kernel
		}
		wide := elements(in) / in[1] * out
		for range axes {
			wide *= w.Stride
		}
		if work := places * taps * in[1] * out; work > mostProducts || elements(in) > mostElements || wide > mostElements {
			continue
		}
		w.Dilate = 1
		return named(fmt.Sprintf("k%ds%dp%d", kernel, w.Stride, w.Pad), []any{in, out}, func(b *model.Builder) model.Value {
			return b.ConvTranspose(b.Input(in...), in[1], out, w, true)
		})
	}
}

// int8 is a quantised convolution or product.
func (d dice) int8() Case {
	if d.chance(40) {
		m, k, n := d.size(1, 512), d.size(8, 3072), d.size(8, 3072)
		for m*k*n > mostProducts {
			m = (m + 1) / 2
		}
		axis := pick(d, 1, -1)
		return named(fmt.Sprintf("dense%d", axis), []any{shape{m, k, n}}, func(b *model.Builder) model.Value {
			return b.Quantize(b.Do("MatMul", b.Quantize(b.Input(m, k), 0.03), b.Bytes8(axis, 0.01, k, n)), 0.5)
		})
	}
	groups := pick(d, d.dense, d.dense, func() (int, int, int) { n := d.size(4, 512); return n, n, n })
	in, out, w := d.windowed(2, 160, []int{1, 1, 3, 3, 5}, groups)
	channels := d.chance(60)
	return named(spelled(w), []any{in, out, channels}, func(b *model.Builder) model.Value {
		x := b.Quantize(b.Input(in...), 0.03)
		return b.Quantize(b.Do("Relu", b.ConvQuantized(x, 0.03, in[1], out, w, channels)), 0.05)
	})
}
