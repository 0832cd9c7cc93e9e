package ops

import (
	"math/rand/v2"
	"slices"

	"lathe/internal/types"
)

// draw makes the random shapes and choices of samples: small, odd, sometimes 1, rarely empty.
type draw struct{ *rand.Rand }

// between is a number in [lo, hi].
func (d draw) between(lo, hi int) int { return lo + d.IntN(hi-lo+1) }

// coin is true once in n times.
func (d draw) coin(n int) bool { return d.IntN(n) == 0 }

// shape has between lo and hi axes.
func (d draw) shape(lo, hi int) []int {
	s := make([]int, d.between(lo, hi))
	for i := range s {
		s[i] = d.between(1, 7)
	}
	if len(s) > 0 && d.coin(30) {
		s[d.IntN(len(s))] = 0
	}
	return s
}

// full is a shape with between lo and hi axes, none of them empty.
func (d draw) full(lo, hi int) []int {
	s := d.shape(lo, hi)
	for i := range s {
		s[i] = max(s[i], 1)
	}
	return s
}

// dtype is any element type, or one of those given.
func (d draw) dtype(list ...types.DType) types.DType {
	if len(list) == 0 {
		list = types.DTypes()
	}
	return list[d.IntN(len(list))]
}

// float is a floating-point element type.
func (d draw) float() types.DType {
	return d.dtype(types.F32, types.F32, types.F64, types.F16, types.BF16)
}

// index is an element type of index operands.
func (d draw) index() types.DType { return d.dtype(types.I64, types.I32) }

// axes is a random subset of the axes of a tensor of that rank, in random order.
func (d draw) axes(rank int) []int {
	return slices.Clone(d.Perm(rank)[:d.IntN(rank+1)])
}

// word is one of the given strings.
func (d draw) word(list ...string) string { return list[d.IntN(len(list))] }
