package tensor

import (
	"math"

	"lathe/internal/types"
)

// Quantize returns integers q of type d that stand for the elements of t: Scale (q - Zero) with the given scale and zero point, rounded half
// to even and saturated. NaN becomes the zero point.
func (t *Tensor) Quantize(d types.DType, scale float64, zero int) *Tensor {
	out := New(d, t.Shape...)
	low, high := d.IntRange()
	for i := range t.Len() {
		q := math.RoundToEven(t.Float(i)/scale) + float64(zero)
		if q != q {
			q = float64(zero)
		}
		out.SetInt(i, int64(min(max(q, float64(low)), float64(high))))
	}
	return out
}

// Dequantize returns in float32 what integers stand for: scale (q - zero).
func (t *Tensor) Dequantize(scale float64, zero int) *Tensor {
	out := New(types.F32, t.Shape...)
	for i := range t.Len() {
		out.SetFloat(i, scale*float64(t.Int(i)-int64(zero)))
	}
	return out
}
