package modeltest

import (
	"fmt"
	"math"
	"slices"

	"lathe/internal/tensor"
)

// A Distance is how far a tensor is from another, or may be. Integers count by the greatest difference of two elements, and floats
// by the relative L2 distance.
type Distance struct {
	Steps    uint64
	Relative float64
}

// String is the distance for logs.
func (d Distance) String() string {
	return fmt.Sprintf("%d steps, relative L2 %.2e", d.Steps, d.Relative)
}

// Compare returns how far got is from what is wanted. Another element type or shape is an error, and so is a distance above the
// greatest one, or one that is no number.
func Compare(got, want *tensor.Tensor, most Distance) (far Distance, err error) {
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return far, fmt.Errorf("%s instead of %s", got.Type(), want.Type())
	}
	if want.DType.IsFloat() {
		far.Relative = Relative(got, want)
	} else {
		for i := range want.Len() {
			g, w := got.Int(i), want.Int(i)
			far.Steps = max(far.Steps, uint64(max(g, w))-uint64(min(g, w)))
		}
	}
	if far.Steps > most.Steps || !(far.Relative <= most.Relative) {
		err = fmt.Errorf("%s; allowed are %s", far, most)
	}
	return far, err
}

// Relative is the relative L2 distance, ‖got - want‖ / ‖want‖, of tensors with as many elements: 0 where they are equal, infinite where only zeros are
// wanted and something else came, NaN if either has NaN.
func Relative(got, want *tensor.Tensor) float64 {
	var difference, size float64
	for i := range want.Len() {
		d := got.Float(i) - want.Float(i)
		difference, size = difference+d*d, size+want.Float(i)*want.Float(i)
	}
	if difference == 0 {
		return 0
	}
	return math.Sqrt(difference / size)
}
