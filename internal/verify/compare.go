package verify

import (
	"fmt"
	"math"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// difference is the relative L2 distance of got from want: the norm of the difference over the norm of want. Elements
// with the same value, or both NaN, do not differ; an infinity or NaN on one side only makes the distance infinite or NaN.
func difference(want, got *tensor.Tensor) (float64, error) {
	if !want.Type().Equal(got.Type()) {
		return 0, fmt.Errorf("got %s, want %s", got.Type(), want.Type())
	}
	var num, den float64
	for i := range want.Len() {
		if a := want.Float(i); !math.IsInf(a, 0) && a == a {
			den += a * a
		}
		d := elementDifference(want, got, i)
		num += d * d
	}
	if num == 0 {
		return 0, nil
	}
	return math.Sqrt(num / max(den, 1e-30)), nil
}

// elementDifference is zero exactly when element i is the same in both tensors, which have one type.
func elementDifference(want, got *tensor.Tensor, i int) float64 {
	a, b := want.Float(i), got.Float(i)
	switch {
	case a == b && (want.DType.IsFloat() || want.Int(i) == got.Int(i)), a != a && b != b:
		return 0
	case a == b: // integers that float64 does not tell apart
		return 1
	}
	return math.Abs(a - b)
}

// maxDifference is the greatest difference of an element; NaN if one of them is.
func maxDifference(want, got *tensor.Tensor) float64 {
	top := 0.0
	for i := range want.Len() {
		top = max(top, elementDifference(want, got, i))
	}
	return top
}

// tolerance of an operator's result, by element type: the bound for single operators. It is for the relative L2
// distance; integers are exact.
func tolerance(d types.DType) float64 {
	switch d {
	case types.F16:
		return 1e-3
	case types.BF16:
		return 1e-2
	case types.F64:
		return 1e-9
	case types.F32:
		return 1e-5
	}
	return 0
}
