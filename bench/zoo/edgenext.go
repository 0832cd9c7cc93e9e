package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// edgeNeXt is EdgeNeXt: convolutions of parts of the channels, each of which adds the one before, and attention between channels.
type edgeNeXt struct{ exporter }

// edgeHeads is the number of heads of all stages.
const edgeHeads = 8

// edgeNeXtSmall is the small one (Maaz et al. 2022; mmaaz60/EdgeNeXt).
func edgeNeXtSmall(b exporter) {
	e := edgeNeXt{b}
	x, in, side := e.Input(1, 3, 256, 256), 3, 64
	for st, out := range []int{48, 96, 160, 304} {
		if st == 0 {
			x = e.normImage(e.ConvBias(x, in, out, model.Window{Kernel: []int{4, 4}, Stride: 4}), out)
		} else {
			x = e.ConvBias(e.normImage(x, in), in, out, model.Window{Kernel: []int{2, 2}, Stride: 2})
			side /= 2
		}
		in = out
		n := []int{3, 3, 9, 3}[st]
		for i := range n {
			if st > 0 && i == n-1 {
				x = e.splitDepthwise(x, in, side, []int{0, 2, 3, 4}[st], st == 1)
			} else {
				x = e.convolve(x, in, 3+2*st)
			}
		}
	}
	b.Output(b.Dense(b.LayerNorm(b.mean(x, 0, -2, -1), in), in, 1000))
}

// normImage is layer normalisation over the channels of an image, in its parts.
func (e edgeNeXt) normImage(x model.Value, channels int) model.Value {
	d := e.Do("Sub", x, e.mean(x, 1, 1))
	v := e.mean(e.Do("Pow", d, e.Number(2)), 1, 1)
	y := e.Do("Div", d, e.Do("Sqrt", e.add(v, e.Number(1e-6))))
	return e.add(e.mul(e.Scale(channels, 1, 1), y), e.Weight(0.1, channels, 1, 1))
}

// convolve is a block as ConvNeXt's, with a trained scale before the axes are back in their order.
func (e edgeNeXt) convolve(x model.Value, width, kernel int) model.Value {
	y := e.Transpose(e.conv(x, width, width, kernel, 1, width), 0, 2, 3, 1)
	return e.add(x, e.feedForward(y, width))
}

// feedForward ends a block: rows of places become an image again.
func (e edgeNeXt) feedForward(y model.Value, width int) model.Value {
	y = e.Linear(e.GELU(e.Linear(e.LayerNorm(y, width), width, 4*width)), 4*width, width)
	return e.Transpose(e.mul(e.Weight(0.2, width), y), 0, 3, 1, 2)
}

// splitDepthwise is a block with attention.
func (e edgeNeXt) splitDepthwise(x model.Value, width, side, scales int, positions bool) model.Value {
	part := (width + scales - 1) / scales
	var sizes []int
	for at := 0; at < width; at += part {
		sizes = append(sizes, min(part, width-at))
	}
	parts := e.Split(x, 1, sizes...)
	for i := range scales - 1 {
		y := parts[i]
		if i > 0 {
			y = e.add(parts[i-1], y)
		}
		parts[i] = e.conv(y, part, part, 3, 1, part)
	}
	y := e.Transpose(e.view(e.Concat(1, parts...), -100, width, side*side), 0, 2, 1)
	if positions {
		p := e.conv(e.Constant(fourier(side)), 64, width, 1, 1, 1)
		y = e.add(y, e.Transpose(e.view(p, -100, -101, side*side), 0, 2, 1))
	}
	y = e.add(y, e.mul(e.Weight(0.2, width), e.crossCovariance(e.LayerNorm(y, width), width)))
	return e.add(x, e.feedForward(e.view(y, -100, side, side, width), width))
}

// crossCovariance is attention between channels, whose queries and keys have the length 1 over all places.
func (e edgeNeXt) crossCovariance(x model.Value, width int) model.Value {
	qkv := e.view(e.Linear(x, width, 3*width), -100, -101, 3, edgeHeads, width/edgeHeads)
	qkv = e.Transpose(qkv, 2, 0, 3, 1, 4)
	turned := func(i int) model.Value { return e.Transpose(e.at(qkv, 0, i), 0, 1, 3, 2) }
	q, k, v := e.unit(turned(0)), e.unit(turned(1)), turned(2)
	s := e.mul(e.Do("MatMul", q, e.Transpose(k, 0, 1, 3, 2)), e.Scale(edgeHeads, 1, 1))
	y := e.Transpose(e.Do("MatMul", e.softmax(s, -1), v), 0, 3, 1, 2)
	return e.Linear(e.view(y, -100, -101, width), width, width)
}

// unit divides by the length along the last axis as normalize is exported.
func (b exporter) unit(x model.Value) model.Value {
	n := b.Op("ReduceL2", []model.Value{x}, model.At("axes", []int{-1}), model.At("keepdims", 1))
	n = b.Do("Clip", n, b.Number(1e-12))
	return b.Do("Div", x, b.Do("Expand", n, b.Do("Shape", x)))
}

// fourier is sines and cosines of rows and columns, 1 × 64 × side × side.
func fourier(side int) *tensor.Tensor {
	const half = 32
	v := make([]float32, 2*half*side*side)
	for c := range 2 * half {
		for at := range side * side {
			place := at / side
			if c >= half {
				place = at % side
			}
			angle := float64(place+1) / float64(side) * 2 * math.Pi / math.Pow(10000, float64(c%half/2*2)/half)
			v[c*side*side+at] = float32(math.Sin(angle + float64(c%2)*math.Pi/2))
		}
	}
	return tensor.Of([]int{1, 2 * half, side, side}, v)
}
