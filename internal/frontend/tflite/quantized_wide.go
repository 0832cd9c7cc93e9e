package tflite

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

type opDef = op.Def

func exp(x float64) float64       { return math.Exp(x) }
func roundEven(x float64) float64 { return math.RoundToEven(x) }

// wide sums products of 16-bit data, whose zero point is 0, in 64 bits: those of the high bytes and those of the low bytes go through kernels for 8
// bits, whose sums fit 32, and are joined. axis is that of the channels.
func (c *call) wide(x *graph.Value, axis int, sums func(part *graph.Value) *graph.Value) *graph.Value {
	to := c.to(0)
	if !to.quantized() || c.from(0).zero() != 0 {
		compose.Fail("16-bit data with a zero point, or a result that is not quantised")
	}
	high := c.Cast(c.Do(ops.RightShift, x, compose.Like(x, 8)), types.I8)
	low := c.Cast(c.Do(ops.BitwiseAnd, x, compose.Like(x, 255)), types.U8)
	h, l := c.Cast(sums(high), types.I64), c.Cast(sums(low), types.I64)
	y := c.Do(ops.Add, c.Do(ops.Multiply, h, compose.Like(h, 256)), l)
	if bias := c.bias(); bias != nil {
		y = c.Do(ops.Add, y, c.along(c.Cast(bias, types.I64), y.Type.Rank(), axis))
	}
	return c.narrowed(c.MultiplyFixedWide(y, axis, c.factors()...), to)
}

// rescaledFixed is the rescaling of TensorFlow Lite's own kernels.
func (c *call) rescaledFixed(v *graph.Value, from, to *tensorInfo) *graph.Value {
	y := c.MultiplyFixed(c.shifted(v, from), 0, compose.FixedPointOf(float64(from.scale())/float64(to.scale())))
	if z := to.zero(); z != 0 {
		y = c.Do(ops.Add, y, compose.Like(y, float64(z)))
	}
	return c.saturated(y, to.dtype())
}

// leaky16 has a factor for each sign, computed in float32.
func (c *call) leaky16(v *graph.Value, from, to *tensorInfo, alpha float64) *graph.Value {
	x := c.shifted(v, from)
	same := c.MultiplyFixed(x, 0, compose.FixedPointOf(float64(from.scale()/to.scale())))
	leaked := c.MultiplyFixed(x, 0, compose.FixedPointOf(float64(from.scale()*float32(alpha)/to.scale())))
	return c.narrowed(c.Do(ops.Where, c.Do(ops.GreaterEqual, x, compose.Like(x, 0)), same, leaked), to)
}
