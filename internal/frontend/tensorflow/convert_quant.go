package tensorflow

import (
	"math"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var quantRows = []row{{"Dequantize", one(dequantize)}, {"QuantizeAndDequantizeV2", one(quantizeAndDequantize)}, {"QuantizeAndDequantizeV3", one(quantizeAndDequantize)}, {"QuantizeAndDequantizeV4", one(quantizeAndDequantize)}}

// dequantize gives real numbers of integers that stand for the range between operands 1 and 2 (dequantize_op.cc).
func dequantize(c *call) *graph.Value {
	if axis := c.Int("axis", -1); axis != -1 {
		compose.Fail("ranges along axis %d are not supported", axis)
	}
	q := c.X(0).Type.DType
	d := c.typeOf("dtype", types.F32)
	lo, hi := c.KnownFloat(1, "the least number"), c.KnownFloat(2, "the greatest number")
	if !q.IsInt() {
		compose.Fail("operand %s", c.X(0).Type)
	}
	x := c.Cast(c.X(0), types.F32)
	first, last := q.IntRange()
	var y *graph.Value
	switch narrow := c.Bool("narrow_range", false); c.OneOf("mode", "MIN_COMBINED", "MIN_COMBINED", "MIN_FIRST", "SCALED") {
	case "MIN_COMBINED":
		scale, half := (hi-lo)/float64(last-first), 0.0
		if q.IsSigned() {
			half = (float64(last-first) + 1) / 2
		}
		y = c.affine(x, scale, half*scale+lo)
	case "MIN_FIRST":
		scale := float64(float32((hi - lo) / float64(last-first)))
		y = c.affine(x, scale, math.Round(lo/scale)*scale-float64(first)*scale)
	default:
		if narrow {
			first++
		}
		scale := hi / float64(last)
		if q.IsSigned() {
			scale = math.Max(scale, lo/float64(first))
		}
		y = c.affine(x, scale, 0)
	}
	return c.Cast(y, d)
}

func (c *call) affine(x *graph.Value, scale, offset float64) *graph.Value {
	y := c.Do(ops.Multiply, x, compose.Like(x, scale))
	if offset == 0 {
		return y
	}
	return c.Do(ops.Add, y, compose.Like(x, offset))
}

// quantizeAndDequantize rounds to what num_bits can tell apart in a range that is given, or that x has.
func quantizeAndDequantize(c *call) *graph.Value {
	c.Ignore("round_mode")
	if mode := c.Str("round_mode", "HALF_TO_EVEN"); mode != "HALF_TO_EVEN" && mode != "HALF_UP" {
		compose.Fail("round_mode %q", mode)
	}
	x, bits, signed := c.X(0), c.Int("num_bits", 8), c.Bool("signed_input", true)
	if c.Present(3) {
		bits = c.KnownInt(3, "num_bits")
	}
	if axis := c.Int("axis", -1); axis != -1 || bits < 2 || bits > 24 {
		compose.Fail("axis %d and %d bits are not supported", axis, bits)
	}
	axes := make([]int, x.Type.Rank())
	for k := range axes {
		axes[k] = k
	}
	lo, hi := c.X(1), c.X(2)
	if !c.Bool("range_given", false) {
		lo, hi = c.Reduce(ops.Min, x, false, axes...), c.Reduce(ops.Max, x, false, axes...)
	}
	first, last := 0.0, math.Exp2(float64(bits))-1
	if signed {
		first, last = -math.Exp2(float64(bits-1)), math.Exp2(float64(bits-1))-1
		if c.Bool("narrow_range", false) {
			first++
		}
	}
	c.Ignore("narrow_range")
	zero := compose.Like(x, 0)
	by := func(bound *graph.Value, of float64) *graph.Value { // the scale that a bound asks for; none where its sign is the other
		if of == 0 {
			return compose.Like(x, math.MaxFloat32)
		}
		right := c.Do(ops.Greater, c.Scaled(bound, of), zero)
		return c.Do(ops.Where, right, c.Do(ops.Divide, compose.Like(x, of), bound), compose.Like(x, math.MaxFloat32))
	}
	scale := c.Do(ops.Minimum, by(lo, first), by(hi, last))
	lowest, highest := c.Do(ops.Divide, compose.Like(x, first), scale), c.Do(ops.Divide, compose.Like(x, last), scale)
	clipped := c.Do(ops.Minimum, c.Do(ops.Maximum, x, lowest), highest)
	steps := c.Do(ops.Multiply, clipped, scale)
	if c.Str("round_mode", "HALF_TO_EVEN") == "HALF_UP" {
		steps = c.Do(ops.Floor, c.Do(ops.Add, steps, compose.Like(x, 0.5)))
	} else {
		steps = c.Do(ops.Round, steps)
	}
	return c.Do(ops.Divide, steps, scale)
}
