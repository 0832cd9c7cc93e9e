package compose

import (
	"math"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A FixedPoint is a positive factor Mantissa * 2^(Shift-31), as gemmlowp has it: the mantissa is in [2^30, 2^31), or 0.
type FixedPoint struct{ Mantissa, Shift int }

// FixedPointOf rounds a factor.
func FixedPointOf(f float64) FixedPoint {
	fraction, shift := math.Frexp(f)
	m := int(math.Round(fraction * (1 << 31)))
	if m == 1<<31 {
		m, shift = m/2, shift+1
	}
	if shift < -31 || f <= 0 {
		return FixedPoint{}
	}
	return FixedPoint{m, shift}
}

// parts are the numbers that the factors are made of, in the shape of one factor for each index of axis, or of one for all.
func parts(list []FixedPoint, d types.DType, rank, axis int, part func(f FixedPoint) int) *graph.Value {
	shape := make([]int, rank)
	for k := range shape {
		shape[k] = 1
	}
	if len(list) == 1 {
		shape = []int{}
	} else {
		shape[axis] = len(list)
	}
	t := tensor.New(d, shape...)
	for i, f := range list {
		t.SetInt(i, int64(part(f)))
	}
	return Const(t)
}

// MultiplyFixed multiplies int32 by factors, one or one for each index of axis: the product of x * 2^Shift, where that is positive, and the
// mantissa, rounded to its high word half away from zero, then divided by the rest of the power, rounded half away from zero. It is gemmlowp's
// SaturatingRoundingDoublingHighMul followed by RoundingDivideByPOT.
func (b *Builder) MultiplyFixed(x *graph.Value, axis int, factors ...FixedPoint) *graph.Value {
	of := func(d types.DType, part func(f FixedPoint) int) *graph.Value {
		return parts(factors, d, x.Type.Rank(), axis, part)
	}
	x = b.Do(ops.LeftShift, x, of(types.I32, func(f FixedPoint) int { return max(f.Shift, 0) }))
	product := b.Do(ops.Multiply, b.Cast(x, types.I64), of(types.I64, func(f FixedPoint) int { return f.Mantissa }))
	positive := b.Do(ops.GreaterEqual, product, Like(product, 0))
	nudged := b.Do(ops.Add, product, b.Do(ops.Where, positive, Like(product, 1<<30), Like(product, 1-1<<30)))
	high := b.Cast(b.Do(ops.Divide, nudged, Like(product, 1<<31)), types.I32)
	return b.RoundingShift(high, of(types.I32, func(f FixedPoint) int { return max(-f.Shift, 0) }), of(types.I32, func(f FixedPoint) int { return 1<<max(-f.Shift, 0) - 1 }))
}

// RoundingShift is x / 2^n, rounded half away from zero; mask is 2^n - 1.
func (b *Builder) RoundingShift(x, n, mask *graph.Value) *graph.Value {
	rest := b.Do(ops.BitwiseAnd, x, mask)
	threshold := b.Do(ops.RightShift, mask, Like(mask, 1))
	negative := b.Cast(b.Do(ops.Less, x, Like(x, 0)), x.Type.DType)
	up := b.Do(ops.Greater, rest, b.Do(ops.Add, threshold, negative))
	return b.Do(ops.Add, b.Do(ops.RightShift, x, n), b.Cast(up, x.Type.DType))
}

// MultiplyFixedWide multiplies int64 by factors with a mantissa of 16 bits, rounding half up: what TFLite does with the sums of 16-bit data.
// The result is int32.
func (b *Builder) MultiplyFixedWide(x *graph.Value, axis int, factors ...FixedPoint) *graph.Value {
	of := func(part func(f FixedPoint) int) *graph.Value {
		return parts(factors, types.I64, x.Type.Rank(), axis, part)
	}
	short := func(f FixedPoint) int {
		if f.Mantissa < 0x7FFF0000 {
			return (f.Mantissa + 1<<15) >> 16
		}
		return 0x7FFF
	}
	y := b.Do(ops.Add, b.Do(ops.Multiply, x, of(short)), of(func(f FixedPoint) int { return 1 << max(14-f.Shift, 0) }))
	return b.Cast(b.Do(ops.RightShift, y, of(func(f FixedPoint) int { return max(15-f.Shift, 0) })), types.I32)
}
