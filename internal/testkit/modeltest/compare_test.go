package modeltest

import (
	"math"
	"testing"

	"lathe/internal/tensor"
)

func TestCompare(t *testing.T) {
	floats := func(v ...float32) *tensor.Tensor { return tensor.Of([]int{len(v)}, v) }
	integers := func(v ...int64) *tensor.Tensor { return tensor.Of([]int{len(v)}, v) }
	nan := float32(math.NaN())
	for _, c := range []struct {
		what      string
		got, want *tensor.Tensor
		most      Distance
		ok        bool
	}{
		{"equal", floats(1, 2), floats(1, 2), Distance{}, true},
		{"zeros", floats(0, 0), floats(0, 0), Distance{}, true},
		{"something for zeros", floats(0, 1e-9), floats(0, 0), Distance{Relative: 1e3}, false},
		{"at the bound", floats(3, 4.5), floats(3, 4), Distance{Relative: 0.1}, true},
		{"above it", floats(3, 4.6), floats(3, 4), Distance{Relative: 0.1}, false},
		{"not a number", floats(nan, 2), floats(1, 2), Distance{Relative: 1e3}, false},
		{"nor expected", floats(1, 2), floats(nan, 2), Distance{Relative: 1e3}, false},
		{"steps down", integers(5, 7), integers(5, 9), Distance{Steps: 2}, true},
		{"steps up", integers(5, 12), integers(5, 9), Distance{Steps: 2}, false},
		{"all the way", integers(math.MinInt64), integers(math.MaxInt64), Distance{Steps: math.MaxInt64}, false},
		{"half the way", integers(math.MinInt64), integers(0), Distance{Steps: math.MaxInt64}, false},
		{"another shape", floats(1, 2).Reshape(2, 1), floats(1, 2), Distance{Relative: 1}, false},
		{"another type", integers(1, 2), floats(1, 2), Distance{Relative: 1}, false},
	} {
		if far, err := Compare(c.got, c.want, c.most); (err == nil) != c.ok {
			t.Errorf("%s: %s, %v", c.what, far, err)
		}
	}
}
