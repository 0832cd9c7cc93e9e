package tflite

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

var quantRows = []row{
	{"QUANTIZE", one(quantize)}, {"DEQUANTIZE", one(dequantize)},
	{"ADD", one(sum(ops.Add, 1))}, {"SUB", one(sum(ops.Subtract, -1))}, {"MUL", one(multiply)},
}

func quantize(c *call) *graph.Value {
	from, to := c.from(0), c.to(0)
	switch {
	case len(to.quant.scale) == 0:
		compose.Fail("the result has no scale")
	case len(from.quant.scale) > 0 && (from.elem == elemInt32 || to.elem == elemInt32):
		return c.rescaledFixed(c.X(0), from, to)
	case from.quantized():
		return c.rescaled(c.X(0), from, to)
	}
	return c.quantize(c.X(0), to)
}

// dequantize also widens floats of 16 bits.
func dequantize(c *call) *graph.Value {
	if from := c.from(0); from.quantized() {
		return c.dequantized(c.X(0), from)
	}
	return c.Cast(c.X(0), types.F32)
}

// sum adds or subtracts. With 8 bits both operands are brought to a common power of two over the scale of the result, with 21 bits for the greater.
func sum(d *opDef, sign int) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.Ignore("pot_scale_int16")
		a, b, to := c.from(0), c.from(1), c.to(0)
		if !a.quantized() || !b.quantized() || !to.quantized() {
			return real(one(func(c *call) *graph.Value { return c.activated(c.Do(d, c.X(0), c.X(1))) }))(c)[0]
		}
		x, y := c.shifted(c.X(0), a), c.shifted(c.X(1), b)
		r, s := a.scale()/to.scale(), b.scale()/to.scale()
		least, most := float32(1.0/1024), float32(256)
		if to.elem.bytes() == 2 || c.options().reference || max(r, s) < least || max(r, s) >= most || min(r, s) < least {
			return c.sumFixed(d, x, y, a, b, to)
		}
		_, e := math.Frexp(float64(max(r, s))) // max in [2^(e-1), 2^e)
		n := 20 - (e - 1)
		factor := func(r float32) float64 { return roundEven(math.Ldexp(float64(r), n)) }
		p, q := c.Do(ops.Multiply, x, compose.Like(x, factor(r))), c.Do(ops.Multiply, y, compose.Like(y, factor(s)))
		z := c.Do(d, p, q)
		return c.narrowed(c.Do(ops.RightShift, c.Do(ops.Add, z, compose.Like(z, math.Ldexp(1, n-1))), compose.Like(z, float64(n))), to)
	}
}

// sumFixed is TensorFlow Lite's own: both operands are brought to twice the greater scale, shifted up to leave room for rounding.
func (c *call) sumFixed(d *opDef, x, y *graph.Value, a, b, to *tensorInfo) *graph.Value {
	left := 20
	if to.elem.bytes() == 2 {
		left = 15
	}
	twice := 2 * max(float64(a.scale()), float64(b.scale()))
	bring := func(v *graph.Value, t *tensorInfo) *graph.Value {
		return c.MultiplyFixed(c.Do(ops.LeftShift, v, compose.Like(v, float64(left))), 0, compose.FixedPointOf(float64(t.scale())/twice))
	}
	z := c.Do(d, bring(x, a), bring(y, b))
	return c.narrowed(c.MultiplyFixed(z, 0, compose.FixedPointOf(twice/(math.Ldexp(1, left)*float64(to.scale())))), to)
}

func multiply(c *call) *graph.Value {
	a, b, to := c.from(0), c.from(1), c.to(0)
	if !a.quantized() || !b.quantized() || !to.quantized() {
		return real(one(func(c *call) *graph.Value { return c.activated(c.Do(ops.Multiply, c.X(0), c.X(1))) }))(c)[0]
	}
	product := c.Do(ops.Multiply, c.shifted(c.X(0), a), c.shifted(c.X(1), b))
	if to.elem.bytes() == 2 || c.options().reference {
		return c.narrowed(c.MultiplyFixed(product, 0, compose.FixedPointOf(float64(a.scale())*float64(b.scale())/float64(to.scale()))), to)
	}
	y := c.Requantize(product, vector([]float32{a.scale() * b.scale()}), compose.Const(tensor.Scalar(to.scale())), to.zeros(to.dtype()), 0)
	return c.clamped(y, to)
}
