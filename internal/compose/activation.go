package compose

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Gelu is x * (1 + erf(x / sqrt(2))) / 2.
func (b *Builder) Gelu(x *graph.Value) *graph.Value {
	e := b.Do(ops.Erf, b.Do(ops.Multiply, x, Like(x, math.Sqrt2/2)))
	return b.Do(ops.Multiply, b.Do(ops.Multiply, x, Like(x, 0.5)), b.Do(ops.Add, e, Like(x, 1)))
}

// GeluTanh is gelu by tanh: x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))) / 2.
func (b *Builder) GeluTanh(x *graph.Value) *graph.Value {
	square := b.Do(ops.Multiply, x, x)
	inner := b.Do(ops.Multiply, x, b.Do(ops.Add, b.Do(ops.Multiply, square, Like(x, 0.044715)), Like(x, 1)))
	t := b.Do(ops.Tanh, b.Do(ops.Multiply, inner, Like(x, math.Sqrt(2/math.Pi))))
	return b.Do(ops.Multiply, b.Do(ops.Multiply, x, Like(x, 0.5)), b.Do(ops.Add, t, Like(x, 1)))
}

// Swish is x * sigmoid(alpha * x).
func (b *Builder) Swish(x *graph.Value, alpha float64) *graph.Value {
	s := x
	if alpha != 1 {
		s = b.Do(ops.Multiply, x, Like(x, alpha))
	}
	return b.Do(ops.Multiply, x, b.Do(ops.Sigmoid, s))
}

// Clipped bounds x on both sides.
func (b *Builder) Clipped(x *graph.Value, least, greatest float64) *graph.Value {
	return b.Apply(ops.Clip, ops.ClipAttrs{Min: least, Max: greatest, HasMin: true, HasMax: true}, x)
}

// Selu is scaled elu, with the constants of Klambauer et al., "Self-Normalizing Neural Networks" (2017).
func (b *Builder) Selu(x *graph.Value) *graph.Value {
	return b.Apply(ops.Selu, ops.SeluAttrs{Alpha: 1.6732632423543772, Gamma: 1.0507009873554805}, x)
}

// LogSigmoid is the logarithm of sigmoid, without overflow.
func (b *Builder) LogSigmoid(x *graph.Value) *graph.Value {
	return b.Do(ops.Negative, b.Do(ops.Softplus, b.Do(ops.Negative, x)))
}

// Glu multiplies one half of an axis with the sigmoid of the other (Dauphin et al., "Language Modeling with Gated Convolutional Networks", 2017).
func (b *Builder) Glu(x *graph.Value, axis int) *graph.Value {
	n := x.Type.Shape[axis]
	if n%2 != 0 {
		Fail("halves of an extent of %d", n)
	}
	halves := b.Split(x, axis, n/2, n/2)
	return b.Do(ops.Multiply, halves[0], b.Do(ops.Sigmoid, halves[1]))
}

// Prelu scales negative elements by a slope that broadcasts to x, for integers too.
func (b *Builder) Prelu(x, slope *graph.Value) *graph.Value {
	if x.Type.DType.IsFloat() {
		return b.Do(ops.Prelu, x, slope)
	}
	return b.Do(ops.Where, b.Do(ops.Less, x, Like(x, 0)), b.Do(ops.Multiply, x, slope), x)
}

// Sqrt is the square root, of integers by way of float64.
func (b *Builder) Sqrt(x *graph.Value) *graph.Value { return b.viaFloat(ops.Sqrt, x) }

// viaFloat applies d to x, to integers in float64, truncating the result.
func (b *Builder) viaFloat(d *op.Def, x *graph.Value) *graph.Value {
	if t := x.Type.DType; !t.IsFloat() {
		return b.Cast(b.Do(d, b.Cast(x, types.F64)), t)
	}
	return b.Do(d, x)
}

// Log is the natural logarithm, of integers by way of float64.
func (b *Builder) Log(x *graph.Value) *graph.Value { return b.viaFloat(ops.Log, x) }
