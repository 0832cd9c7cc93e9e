package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// glu is the first half of the channels behind the gate of the second.
func (b exporter) glu(x model.Value, channels int) model.Value {
	parts := b.Split(x, 1, channels, channels)
	return b.mul(parts[0], b.Do("Sigmoid", parts[1]))
}

// strided is a convolution along a line without padding.
func (b exporter) strided(x model.Value, in, out, kernel, stride int) model.Value {
	return b.ConvBias(x, in, out, model.Window{Kernel: []int{kernel}, Stride: stride})
}

// demucsSmall separates a second of music at 44.1 kHz into four sources (Défossez et al. 2019, facebookresearch/demucs) with 24 of its 64
// channels: six convolutions down to an LSTM in both directions and up again.
func demucsSmall(b exporter) {
	const samples, channels, depth, kernel, stride, context, sources = 44100, 24, 6, 8, 4, 3, 4
	length := samples
	for range depth {
		length = (length-kernel+stride-1)/stride + 1 + context - 1
	}
	for range depth {
		length = (length-1)*stride + kernel
	}
	mix := b.Input(1, 2, samples)
	left := (length - samples) / 2
	x, mean, deviation := b.normalised(b.Op("Pad", []model.Value{mix, b.Ints(0, 0, left, 0, 0, length-samples-left), b.Number(0)}, model.At("mode", "constant")))
	in, saved, lengths := 2, []model.Value(nil), []int(nil)
	for i := range depth {
		out := channels << i
		x = b.glu(b.strided(b.relu(b.strided(x, in, out, kernel, stride)), out, 2*out, 1, 1), out)
		length = (length-kernel)/stride + 1
		in, saved, lengths = out, append(saved, x), append(lengths, length)
	}
	y := b.Transpose(x, 2, 0, 1)
	for i := range 2 {
		y = b.recurrent("LSTM", y, in*(1+i), in, 2)
	}
	x = b.Transpose(b.Linear(y, 2*in, in), 1, 2, 0)
	for i := depth - 1; i >= 0; i-- {
		x = b.add(x, b.middle(saved[i], lengths[i], length))
		x = b.glu(b.strided(x, in, 2*in, context, 1), in)
		length -= context - 1
		out := in / 2
		if i == 0 {
			out = 2 * sources
		}
		x = b.up(x, in, out, kernel, stride, 0)
		if length = (length-1)*stride + kernel; i > 0 {
			x = b.relu(x)
		}
		in = out
	}
	x = b.add(b.mul(x, deviation), mean)
	b.Output(b.middle(b.view(x, -100, sources, 2, -102), length, samples))
}

// normalised is sound without its mean and by the deviation of both channels together.
func (b exporter) normalised(x model.Value) (y, mean, deviation model.Value) {
	mono := b.mean(x, 1, 1)
	mean = b.mean(mono, 1, -1)
	d := b.Do("Sub", mono, mean)
	n := b.Op("Cast", []model.Value{b.dim(mono, 2)}, model.At("to", 1))
	v := b.Do("Div", b.mul(b.mean(b.mul(d, d), 1, -1), n), b.Do("Sub", n, b.Number(1)))
	deviation = b.Do("Sqrt", v)
	return b.Do("Div", b.Do("Sub", x, mean), b.add(deviation, b.Number(1e-5))), mean, deviation
}

// middle cuts the ends of the last axis off.
func (b exporter) middle(x model.Value, length, to int) model.Value {
	delta := length - to
	if delta == 0 {
		return x
	}
	return b.Slice(x, -1, delta/2, -(delta - delta/2), 1)
}

// A codec writes the encoder of EnCodec, whose weights are normalised in the run, as without the folding of constants.
type codec struct{ exporter }

// conv is a convolution that looks back, behind a reflection of the beginning.
func (c codec) conv(x model.Value, in, out, kernel, stride int) model.Value {
	w := c.weights(out, in, kernel)
	if kernel > stride {
		x = c.Op("Pad", []model.Value{x, c.Ints(0, 0, kernel-stride, 0, 0, 0)}, model.At("mode", "reflect"))
	}
	return c.Op("Conv", []model.Value{x, w, c.Weight(0.1, out)}, model.Window{Kernel: []int{kernel}, Stride: stride}.Attrs()...)
}

// weights have a direction and a length for each output channel.
func (c codec) weights(out, in, kernel int) model.Value {
	v := c.Weight(1, out, in, kernel)
	norm := c.Op("ReduceL2", []model.Value{v}, model.At("axes", []int{1, 2}), model.At("keepdims", 1))
	c.Parameters += out
	return c.mul(c.Do("Div", v, norm), c.Constant(c.Uniform(0.9*math.Sqrt2, 1.1*math.Sqrt2, out, 1, 1)))
}

// elu is an ELU.
func (c codec) elu(x model.Value) model.Value {
	return c.Op("Elu", []model.Value{x}, model.At("alpha", 1.0))
}

// encodecEncoder turns a second of sound at 24 kHz into 75 frames of 8 codes of 10 bits (Défossez et al. 2022, facebookresearch/encodec:
// encodec_24khz, the encoder and what is left of the quantiser at 6 kbit/s).
func encodecEncoder(b exporter) {
	c := codec{b}
	const filters, wide = 32, 128
	x, in := c.conv(b.Input(1, 1, 24000), 1, filters, 7, 1), filters
	for _, ratio := range []int{2, 4, 5, 8} {
		y := c.conv(c.elu(x), in, in/2, 3, 1)
		y = c.conv(c.elu(y), in/2, in, 1, 1)
		x = c.add(c.conv(x, in, in, 1, 1), y)
		x, in = c.conv(c.elu(x), in, 2*in, 2*ratio, ratio), 2*in
	}
	x = b.Transpose(x, 2, 0, 1)
	y := x
	for range 2 {
		y = b.recurrent("LSTM", y, in, in, 1)
	}
	x = b.Transpose(b.add(y, x), 1, 2, 0)
	x = c.conv(c.elu(x), in, wide, 7, 1)
	codes, rest := c.quantise(x, wide)
	b.OutputOf(types.I64, codes)
	b.Output(rest)
}

// quantise takes the nearest of 1024 codes, and what is left to the next quantiser.
func (c codec) quantise(x model.Value, wide int) (codes, rest model.Value) {
	const quantisers, entries = 8, 1024
	var list []model.Value
	for i := range quantisers {
		table := c.Constant(c.Normal(math.Pow(0.9, float64(i)), entries, wide))
		rows := c.Reshape(c.Transpose(x, 0, 2, 1), -1, wide)
		embed := c.Transpose(table, 1, 0)
		square := func(v model.Value, axis int) model.Value {
			return c.Op("ReduceSum", []model.Value{c.Do("Pow", v, c.Number(2)), c.Ints(axis)}, model.At("keepdims", 1))
		}
		far := c.Do("Sub", square(rows, 1), c.Do("MatMul", c.mul(rows, c.Number(2)), embed))
		far = c.Do("Neg", c.add(far, square(embed, 0)))
		best := c.Op("ArgMax", []model.Value{far}, model.At("axis", -1), model.At("keepdims", 0))
		best = c.view(best, 1, -1)
		x = c.Do("Sub", x, c.Transpose(c.take(table, best), 0, 2, 1))
		list = append(list, c.Do("Unsqueeze", best, c.Ints(0)))
	}
	return c.Concat(0, list...), x
}

// sileroVAD says whether somebody speaks in 512 samples at 16 kHz behind 64 of those before: snakers4/silero-vad, version 5, with its
// spectrum as a convolution; the state goes in and out.
func sileroVAD(b exporter) {
	const window, bins, hidden = 256, 129, 128
	x, state := b.Input(1, 512+64), b.Input(2, 1, hidden)
	x = b.Op("Pad", []model.Value{x, b.Ints(0, 0, 0, 64)}, model.At("mode", "reflect"))
	x = b.Op("Conv", []model.Value{b.Do("Unsqueeze", x, b.Ints(1)), b.Constant(spectrum(window))}, model.Window{Kernel: []int{window}, Stride: 128}.Attrs()...)
	re, im := b.Slice(x, 1, 0, bins, 1), b.Slice(x, 1, bins, 1<<62, 1)
	x = b.Do("Sqrt", b.add(b.Do("Pow", re, b.Number(2)), b.Do("Pow", im, b.Number(2))))
	in := bins
	for i, out := range []int{128, 64, 64, 128} {
		x, in = b.relu(b.conv1(x, in, out, 3, []int{1, 2, 2, 1}[i], 1, 1)), out
	}
	d := 1 / math.Sqrt(hidden)
	w := [3]model.Value{b.Weight(d, 1, 4*hidden, hidden), b.Weight(d, 1, 4*hidden, hidden), b.Weight(0.1, 1, 8*hidden)}
	h, c := b.cell(b.Do("Squeeze", x, b.Ints(-1)), b.at(state, 0, 0), b.at(state, 0, 1), w, hidden)
	y := b.conv1(b.relu(b.Do("Unsqueeze", h, b.Ints(-1))), hidden, 1, 1, 1, 1, 1)
	y = b.Do("Unsqueeze", b.mean(b.Do("Squeeze", b.Do("Sigmoid", y), b.Ints(1)), 0, 1), b.Ints(1))
	b.Output(y, b.Concat(0, b.Do("Unsqueeze", h, b.Ints(0)), b.Do("Unsqueeze", c, b.Ints(0))))
}

// spectrum is the discrete Fourier transform behind Hann's window, as kernels of real and imaginary parts.
func spectrum(n int) *tensor.Tensor {
	bins := n/2 + 1
	v := make([]float32, 2*bins*n)
	for i := range bins {
		for k := range n {
			hann := 0.5 - 0.5*math.Cos(2*math.Pi*float64(k)/float64(n))
			s, c := math.Sincos(2 * math.Pi * float64(i*k%n) / float64(n))
			v[i*n+k], v[(bins+i)*n+k] = float32(hann*c), float32(-hann*s)
		}
	}
	return tensor.Of([]int{2 * bins, 1, n}, v)
}

// dacEncoder turns 8192 samples of music at 44.1 kHz into 16 frames of 1024 numbers (Kumar et al. 2023, descriptinc/descript-audio-codec):
// residuals of convolutions dilated by 1, 3 and 9 between snakes.
func dacEncoder(b exporter) {
	c := codec{b}
	x, in := c.line(b.Input(1, 1, 8192), 1, 64, 7, 1, 3, 1, 1), 64
	for _, stride := range []int{2, 4, 8, 8} {
		for _, d := range []int{1, 3, 9} {
			y := c.line(c.snake(x, in), in, in, 7, 1, 3*d, d, 0.5)
			x = c.add(x, c.line(c.snake(y, in), in, in, 1, 1, 0, 1, 0.5))
		}
		x, in = c.line(c.snake(x, in), in, 2*in, 2*stride, stride, (stride+1)/2, 1, 1), 2*in
	}
	b.Output(c.line(c.snake(x, in), in, 1024, 3, 1, 1, 1, 1))
}

// line is a convolution with normalised weights; size scales what it gives, so that residuals change little.
func (c codec) line(x model.Value, in, out, kernel, stride, pad, dilation int, size float64) model.Value {
	w := c.weights(out, in, kernel)
	if size != 1 {
		w = c.mul(w, c.Number(float32(size)))
	}
	window := model.Window{Kernel: []int{kernel}, Stride: stride, Pad: pad, Dilate: dilation}
	return c.Op("Conv", []model.Value{x, w, c.Weight(0.1, out)}, window.Attrs()...)
}

// snake adds the square of a sine, whose speed each channel has learned.
func (c codec) snake(x model.Value, channels int) model.Value {
	alpha := c.Scale(1, channels, 1)
	shape := c.Do("Shape", x)
	y := c.view(x, -100, -101, -1)
	sine := c.Do("Pow", c.Do("Sin", c.mul(alpha, y)), c.Number(2))
	y = c.add(y, c.mul(c.Do("Reciprocal", c.add(alpha, c.Number(1e-9))), sine))
	return c.Do("Reshape", y, shape)
}
