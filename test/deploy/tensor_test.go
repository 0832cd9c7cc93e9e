package deploy

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// random fills a tensor of type t with values that suit most operators: around zero for floats, small for integers.
func random(r *rand.Rand, t types.Tensor) *tensor.Tensor {
	x := tensor.NewOf(t)
	for i := range x.Len() {
		switch {
		case t.DType.IsFloat():
			x.SetFloat(i, r.NormFloat64())
		case t.DType == types.Bool:
			x.SetInt(i, int64(r.IntN(2)))
		case t.DType.IsUnsigned():
			x.SetInt(i, int64(r.IntN(8)))
		default:
			x.SetInt(i, int64(r.IntN(11)-5))
		}
	}
	return x
}

// near compares two tensors: floats by the relative L2 distance, NaN and infinities by place, all else bit for bit.
func near(want, got *tensor.Tensor, tolerance float64) error {
	if want.DType != got.DType || !slices.Equal(want.Shape, got.Shape) {
		return fmt.Errorf("%s%v, want %s%v", got.DType, got.Shape, want.DType, want.Shape)
	}
	if !want.DType.IsFloat() {
		if !bytes.Equal(want.Bytes(), got.Bytes()) {
			return fmt.Errorf("other %ss", want.DType)
		}
		return nil
	}
	var distance, size float64
	for i := range want.Len() {
		w, g := want.Float(i), got.Float(i)
		if w == g || math.IsNaN(w) && math.IsNaN(g) {
			size += finite(w * w)
			continue
		}
		if math.IsNaN(g) || math.IsNaN(w) || math.IsInf(w, 0) || math.IsInf(g, 0) {
			return fmt.Errorf("element %d is %g, want %g", i, g, w)
		}
		distance += (w - g) * (w - g)
		size += w * w
	}
	if d := math.Sqrt(distance / max(size, 1e-30)); d > tolerance {
		return fmt.Errorf("relative L2 distance %.2g, at most %.2g wanted", d, tolerance)
	}
	return nil
}

func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
