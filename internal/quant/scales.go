package quant

import (
	"math"

	"lathe/internal/quant/calibrate"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Params are the scale and the zero point of a tensor: integers q stand for Scale (q - Zero).
type Params struct {
	Scale float32
	Zero  int
}

// A numbers says which integers values of the network become.
type numbers struct {
	dtype     types.DType
	symmetric bool // zero point 0
	low, high int  // that are used
}

// activationTypes are those that points may have, the default first.
var activationTypes = []types.DType{types.U8, types.I8}

// activations are the integers of points: uint8, whose zero point is 0 behind relu, or int8 about 0.
func activations(t types.DType, reduce bool) numbers {
	n := numbers{dtype: t, low: 0, high: 255}
	if t == types.I8 {
		n.symmetric, n.low, n.high = true, -127, 127
	}
	if reduce {
		n.low, n.high = n.low/2, n.high/2
	}
	return n
}

// steps is the number of steps between the ends.
func (n numbers) steps() int { return n.high - n.low }

// params are those of a range. A range of nothing has the scale 1, and one so narrow that the scale is no normal float32 the
// least that is.
func (n numbers) params(r calibrate.Range) Params {
	r = r.Union(calibrate.Range{})
	if n.symmetric {
		bound := math.Max(-r.Min, r.Max)
		r = calibrate.Range{Min: -bound, Max: bound}
	}
	width := r.Max - r.Min
	if width == 0 {
		return Params{Scale: 1}
	}
	scale := float32(math.Min(math.Max(width/float64(n.steps()), 0x1p-126), math.MaxFloat32/512))
	if n.symmetric {
		return Params{Scale: scale}
	}
	zero := math.RoundToEven(float64(n.low) - r.Min/float64(scale))
	return Params{scale, int(math.Min(math.Max(zero, float64(n.low)), float64(n.high)))}
}

// mostBias is the greatest bias in steps that int32 sums leave room for.
const mostBias = 1 << 30

// weightNumbers are the integers of weights, from -most to most, and what their scales may be.
type weightNumbers struct {
	most     int
	power2   bool // scales are powers of two, so that shifts multiply by them
	rounding rounding
}

// scale is the least that is at least s and may be one; s is above 0.
func (n weightNumbers) scale(s float64) float32 {
	s = math.Max(s, 0x1p-100)
	if n.power2 {
		if fraction, exponent := math.Frexp(s); fraction > 0.5 {
			s = math.Ldexp(1, exponent)
		}
	}
	return float32(s)
}

// quantisedWeights are weights with a scale per channel of an axis, and a bias in steps of the data's scale times these.
// Where a bias has more steps than int32 has room for, that channel's scale grows.
type quantisedWeights struct {
	weight *tensor.Tensor // int8
	scale  []float32
	bias   *tensor.Tensor // int32; nil without one
	// biasScale is the data's scale times the weights', as float32 has it.
	biasScale []float32
}

// quantiseWeights rounds to nearest, ties to even, but for what the rounding asks.
func quantiseWeights(w, bias *tensor.Tensor, axis int, data float32, n weightNumbers) *quantisedWeights {
	channels := w.Shape[axis]
	q := &quantisedWeights{weight: tensor.New(types.I8, w.Shape...), scale: make([]float32, channels)}
	inner := types.Count(w.Shape[axis+1:])
	from, to := tensor.As[float32](w), tensor.As[int8](q.weight)
	greatest := make([]float64, channels)
	for at := 0; at < len(from); at += inner {
		c := at / inner % channels
		m := greatest[c]
		for _, x := range from[at : at+inner] {
			m = max(m, math.Abs(float64(x)))
		}
		greatest[c] = m
	}
	for c := range q.scale {
		s := greatest[c] / float64(n.most)
		if bias != nil {
			b := math.Abs(bias.Float(c)) / float64(data)
			s = math.Max(s, b/mostBias)
			if greatest[c] == 0 { // only the bias needs the scale
				s = b / (1 << 20)
			}
		}
		if s == 0 {
			s = 1
		}
		q.scale[c] = n.scale(s)
	}
	most := float64(n.most)
	for at := 0; at < len(from); at += inner {
		scale := float64(q.scale[at/inner%channels])
		for i, x := range from[at : at+inner] {
			to[at+i] = int8(max(min(math.RoundToEven(float64(x)/scale), most), -most))
		}
	}
	n.rounding.keep(to, from, w.Shape, axis, q.scale, n.most)
	if bias != nil {
		q.bias, q.biasScale = tensor.New(types.I32, channels), make([]float32, channels)
		for c := range channels {
			q.biasScale[c] = data * q.scale[c]
			q.bias.SetInt(c, int64(math.RoundToEven(bias.Float(c)/float64(q.biasScale[c]))))
		}
	}
	return q
}

// floats are the numbers that quantised weights stand for.
func (q *quantisedWeights) floats(axis int) *tensor.Tensor {
	w := tensor.New(types.F32, q.weight.Shape...)
	inner, channels := types.Count(w.Shape[axis+1:]), len(q.scale)
	from, to := tensor.As[int8](q.weight), tensor.As[float32](w)
	for at := 0; at < len(from); at += inner {
		scale := q.scale[at/inner%channels]
		for i, x := range from[at : at+inner] {
			to[at+i] = float32(x) * scale
		}
	}
	return w
}
