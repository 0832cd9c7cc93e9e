package zoo

import (
	"math"

	"lathe/bench/model"
	"lathe/internal/tensor"
)

// A style is how a transformer's products are computed. Quantisers leave the rest in float32.
type style int

const (
	float   style = iota
	static        // operands quantised by scales found beforehand (QDQ)
	dynamic       // operands quantised by their range in the run
)

// unit is the scale of what a layer normalisation gives, and of what is as large; its products have the same size.
const unit = 0.03

// A transformer writes layers in a style.
type transformer struct {
	*model.Builder
	style
}

// linear is a fully connected layer over the last axis.
func (t transformer) linear(x model.Value, in, out int) model.Value {
	switch t.style {
	case static:
		return t.LinearQuantized(t.Quantize(x, unit), in, out)
	case dynamic:
		return t.LinearDynamic(x, in, out)
	}
	return t.Linear(x, in, out)
}

// conv is a convolution with a bias.
func (t transformer) conv(x model.Value, in, out int, w model.Window) model.Value {
	if t.style == static {
		return t.ConvQuantized(t.Quantize(x, unit), unit, in, out, w, true)
	}
	return t.ConvBias(x, in, out, w)
}

// product is a matrix product of two values of a run.
func (t transformer) product(x, y model.Value) model.Value {
	if t.style == static {
		return t.Do("MatMul", t.Quantize(x, unit), t.Quantize(y, unit))
	}
	return t.Do("MatMul", x, y)
}

// attention is softmax(q·k / √size) · v over batches of rows, with its four linear layers. masks change the scores.
func (t transformer) attention(x model.Value, batch, rows, heads, size int, masks ...func(scores model.Value) model.Value) model.Value {
	wide := heads * size
	part := func(perm ...int) model.Value {
		return t.Transpose(t.Reshape(t.linear(x, wide, wide), batch, rows, heads, size), perm...)
	}
	q, k, v := part(0, 2, 1, 3), part(0, 2, 3, 1), part(0, 2, 1, 3)
	s := t.Do("Div", t.product(q, k), t.Number(float32(math.Sqrt(float64(size)))))
	for _, mask := range masks {
		s = mask(s)
	}
	s = t.Op("Softmax", []model.Value{s}, model.At("axis", -1))
	var y model.Value
	if t.style == static {
		y = t.Do("MatMul", t.QuantizePositive(s, 1.0/255), t.Quantize(v, unit))
	} else {
		y = t.Do("MatMul", s, v)
	}
	return t.linear(t.Reshape(t.Transpose(y, 0, 2, 1, 3), batch, rows, wide), wide, wide)
}

// feedForward is two linear layers around GELU.
func (t transformer) feedForward(x model.Value, size, hidden int) model.Value {
	return t.linear(t.GELU(t.linear(x, size, hidden)), hidden, size)
}

// bertBase gives the states of 128 words, and the pooled one of the first (Devlin et al. 2018).
func bertBase(s style) func(b *model.Builder) {
	return func(b *model.Builder) {
		const words, rows, wide, heads = 30522, 128, 768, 12
		t := transformer{b, s}
		take := func(table, ids model.Value) model.Value { return t.Op("Gather", []model.Value{table, ids}) }
		x := take(t.Weight(0.5, words, wide), t.Indices(words, 1, rows))
		x = t.Do("Add", x, take(t.Weight(0.5, 2, wide), t.Indices(2, 1, rows)))
		x = t.LayerNorm(t.Do("Add", x, t.Slice(t.Weight(0.5, 512, wide), 0, 0, rows, 1)), wide)
		for range 12 {
			x = t.LayerNorm(t.Do("Add", x, t.attention(x, 1, rows, heads, wide/heads)), wide)
			x = t.LayerNorm(t.Do("Add", x, t.feedForward(x, wide, 4*wide)), wide)
		}
		first := t.Op("Gather", []model.Value{x, t.Constant(tensor.Scalar(int64(0)))}, model.At("axis", 1))
		t.Output(x, t.Do("Tanh", t.linear(first, wide, wide)))
	}
}

// vitB16 classifies images by patches of 16 (Dosovitskiy et al. 2020).
func vitB16(s style) func(b *model.Builder) {
	return func(b *model.Builder) {
		const rows, wide, heads = 197, 768, 12
		t := transformer{b, s}
		x := t.conv(t.Input(1, 3, 224, 224), 3, wide, model.Window{Kernel: []int{16, 16}, Stride: 16})
		x = t.Transpose(t.Reshape(x, 1, wide, rows-1), 0, 2, 1)
		x = t.Do("Add", t.Concat(1, t.Weight(0.5, 1, 1, wide), x), t.Weight(0.5, 1, rows, wide))
		for range 12 {
			x = t.Do("Add", x, t.attention(t.LayerNorm(x, wide), 1, rows, heads, wide/heads))
			x = t.Do("Add", x, t.feedForward(t.LayerNorm(x, wide), wide, 4*wide))
		}
		x = t.Op("Gather", []model.Value{t.LayerNorm(x, wide), t.Constant(tensor.Scalar(int64(0)))}, model.At("axis", 1))
		t.Output(t.linear(x, wide, 1000))
	}
}
