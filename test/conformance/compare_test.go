package conformance

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"lathe/internal/tensor"
)

// sameTensor compares with the tolerances of ONNX's own runner: |got - want| <= 1e-7 + 1e-3 |want|, integers exact.
// Results in 16-bit floats, whose steps are 2^-11 and 2^-8 of the value, get 1e-2 of it and of the greatest element, for
// the runner's references round at other places than we do. noise is more absolute tolerance, for a case.
func sameTensor(got, want *tensor.Tensor, noise float64) error {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("%s instead of %s", got.Type(), want.Type())
	}
	if !want.DType.IsFloat() {
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			n := min(got.Len(), 24)
			return fmt.Errorf("integers differ: %v instead of %v", got.Ints()[:n], want.Ints()[:n])
		}
		return nil
	}
	relative, absolute := 1e-3, max(1e-7, noise)
	if want.DType.Size() == 2 {
		relative, absolute = 1e-2, 1e-2/4*greatest(want)
	}
	for i := range want.Len() {
		if x, y := got.Float(i), want.Float(i); !closeTo(x, y, relative, absolute) {
			return fmt.Errorf("element %d of %s is %v instead of %v", i, want.Type(), x, y)
		}
	}
	return nil
}

// noise is the rounding error in the expected values of cases whose exact results are zeros: sums of float32 that cancel.
var noise = map[string]float64{"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}

// greatest is the greatest finite magnitude in t.
func greatest(t *tensor.Tensor) float64 {
	top := 0.0
	for i := range t.Len() {
		if v := math.Abs(t.Float(i)); v > top && !math.IsInf(v, 0) {
			top = v
		}
	}
	return top
}

func closeTo(x, y, relative, absolute float64) bool {
	switch {
	case math.IsNaN(y):
		return math.IsNaN(x)
	case math.IsInf(y, 0):
		return x == y
	}
	return math.Abs(x-y) <= absolute+relative*math.Abs(y)
}
