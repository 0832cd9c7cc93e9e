package ops

import (
	"slices"

	"lathe/internal/op"
	"lathe/internal/types"
)

// orderData are the axes of a use whose operand 0 alone has them.
func orderData(in []types.Tensor, attrs func(order []int) any) *op.Axes {
	return &op.Axes{Rank: len(in[0].Shape), In: []int{0}, Attrs: attrs}
}

// alongAxis are the axes of operators for which the one that an attribute names is different from the others.
func alongAxis[A any](axis func(a *A) *int) func(a A, in []types.Tensor) *op.Axes {
	return func(a A, in []types.Tensor) *op.Axes {
		return orderData(in, func(order []int) any {
			b := a
			*axis(&b) = op.Place(order, *axis(&a))
			return b
		})
	}
}

// places are where axes are found in an order of axes, in ascending order.
func places(order, axes []int) []int {
	var list []int
	for i, k := range order {
		if slices.Contains(axes, k) {
			list = append(list, i)
		}
	}
	return list
}
