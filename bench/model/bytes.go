package model

import (
	"math"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A grid is the numbers that bytes stand for: scale (q - zero).
type grid struct {
	scale float32
	zero  int
}

// steps are the least and the greatest byte that a quantiser uses.
func steps(d types.DType, reduced bool) (low, high int) {
	switch {
	case d == types.U8 && reduced:
		return 0, 127
	case d == types.U8:
		return 0, 255
	case reduced:
		return -64, 64
	}
	return -127, 127
}

// gridOf is that of numbers in a range, to which 0 belongs: bytes of int8 are symmetric.
func gridOf(d types.DType, low, high float64, reduced bool) grid {
	low, high = min(low, 0), max(high, 0)
	first, last := steps(d, reduced)
	if d == types.I8 {
		high = max(high, -low)
		low = -high
	}
	scale := float32((high - low) / float64(last-first))
	if scale == 0 {
		return grid{1, 0}
	}
	if d == types.I8 {
		return grid{scale, 0}
	}
	return grid{scale, int(math.RoundToEven(-low / float64(scale)))}
}

// span is the least and the greatest of some numbers.
func span(v []float32) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, x := range v {
		low, high = min(low, float64(x)), max(high, float64(x))
	}
	return low, high
}

// A rounded constant is its bytes with the grids of all places of an axis, or one of all.
type rounded struct {
	bytes *tensor.Tensor
	grids []grid
	axis  int // -1 for one grid
}

// round gives the bytes of a constant; an axis of -1 asks for one grid.
func round(t *tensor.Tensor, d types.DType, axis int, reduced bool) rounded {
	v := tensor.As[float32](t)
	r := rounded{tensor.New(d, t.Shape...), nil, axis}
	if axis < 0 {
		low, high := span(v)
		r.grids = []grid{gridOf(d, low, high, reduced)}
	} else {
		r.grids = gridsOf(t, d, axis, reduced)
	}
	first, last := steps(d, reduced)
	for i, x := range v {
		g := r.grids[r.place(t.Shape, i)]
		q := int(math.RoundToEven(float64(x)/float64(g.scale))) + g.zero
		r.bytes.SetInt(i, int64(min(max(q, first), last)))
	}
	return r
}

// gridsOf are those of all places of an axis.
func gridsOf(t *tensor.Tensor, d types.DType, axis int, reduced bool) []grid {
	parts := make([][]float32, t.Shape[axis])
	r := rounded{axis: axis}
	for i, x := range tensor.As[float32](t) {
		p := r.place(t.Shape, i)
		parts[p] = append(parts[p], x)
	}
	var list []grid
	for _, p := range parts {
		low, high := span(p)
		list = append(list, gridOf(d, low, high, reduced))
	}
	return list
}

// place is which grid element i belongs to.
func (r rounded) place(shape []int, i int) int {
	if r.axis < 0 {
		return 0
	}
	return i / types.Count(shape[r.axis+1:]) % shape[r.axis]
}

// shape is that of scales and zero points.
func (r rounded) shape() []int {
	if r.axis < 0 {
		return nil
	}
	return []int{len(r.grids)}
}

// scales are the grids' scales times a number.
func (r rounded) scales(by float32) *tensor.Tensor {
	t := tensor.New(types.F32, r.shape()...)
	for i, g := range r.grids {
		tensor.As[float32](t)[i] = g.scale * by
	}
	return t
}

// zeros are the grids' zero points.
func (r rounded) zeros() *tensor.Tensor {
	t := tensor.New(r.bytes.DType, r.shape()...)
	for i, g := range r.grids {
		t.SetInt(i, int64(g.zero))
	}
	return t
}

// sums are the elements of a bias as int32 in units of an operand's scale times the weights'.
func (r rounded) sums(bias *tensor.Tensor, scale float32) *tensor.Tensor {
	t := tensor.New(types.I32, bias.Shape...)
	units := tensor.As[float32](r.scales(scale))
	for i, x := range tensor.As[float32](bias) {
		t.SetInt(i, int64(math.RoundToEven(float64(x)/float64(units[i%len(units)]))))
	}
	return t
}
