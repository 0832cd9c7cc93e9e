package verify

import (
	"math"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

const denormalNote = "numbers below the smallest normal one occur, which the code takes as zero: --denormals=keep computes with them"

// LeastNormal is the smallest normal number of what computes with a type, below which flushing makes zero of it. float16 is
// computed in float32, of which its own denormals are normal numbers.
func LeastNormal(d types.DType) float64 {
	switch d {
	case types.F32, types.BF16:
		return 0x1p-126
	case types.F64:
		return 0x1p-1022
	}
	return 0
}

// hasDenormal reports whether an element would be flushed.
func hasDenormal(t *tensor.Tensor) bool {
	least := LeastNormal(t.DType)
	for i := range t.Len() {
		if least == 0 {
			break
		}
		if v := math.Abs(t.Float(i)); v > 0 && v < least {
			return true
		}
	}
	return false
}
