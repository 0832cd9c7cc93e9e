package op

import (
	"slices"

	"lathe/internal/types"
)

// Axes say how a use of an operator is computed with its axes in another order: an order lists, for each axis, which one it
// was.
type Axes struct {
	Rank  int                   // how many there are: those of the operands that get the order
	In    []int                 // operands that get the order, by the rule of broadcasting; the others stay
	Attrs func(order []int) any // the attributes then
	Drops []int                 // axes that results lack, whose order is the same then
}

// KeepsRest reports whether the axes that are not dropped keep their order.
func (a *Axes) KeepsRest(order []int) bool {
	return slices.IsSorted(slices.DeleteFunc(slices.Clone(order), func(i int) bool { return slices.Contains(a.Drops, i) }))
}

// AllAlike are the axes of a use that treats all of all operands alike.
func AllAlike(attrs any, in []types.Tensor) *Axes {
	a := &Axes{Attrs: func([]int) any { return attrs }}
	for i, t := range in {
		a.Rank, a.In = max(a.Rank, len(t.Shape)), append(a.In, i)
	}
	return a
}

// Permuted is list in another order.
func Permuted[T any](list []T, order []int) []T {
	out := make([]T, len(order))
	for k, i := range order {
		out[k] = list[i]
	}
	return out
}

// Place is where an axis is found in an order of axes. Quantisation by tensor has an axis that means nothing and need
// not exist.
func Place(order []int, axis int) int { return max(0, slices.Index(order, axis)) }
