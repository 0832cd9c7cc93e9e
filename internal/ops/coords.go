package ops

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/types"
)

// eachIndex calls f with every index of a tensor of the given shape in row-major order. f must not keep the slice.
func eachIndex(shape []int, f func(at []int)) {
	at := make([]int, len(shape))
	for n := types.Count(shape); n > 0; n-- {
		f(at)
		for k := len(shape) - 1; k >= 0; k-- {
			if at[k]++; at[k] < shape[k] {
				break
			}
			at[k] = 0
		}
	}
}

// offsetOf is the row-major position of index at in a tensor of the given shape.
func offsetOf(shape, at []int) int {
	n := 0
	for k, i := range at {
		n = n*shape[k] + i
	}
	return n
}

// broadcastShape is the shape operands of the given shapes are broadcast to by numpy's rule: aligned at the last axis,
// extents are equal or 1.
func broadcastShape(shapes ...[]int) ([]int, error) {
	rank := 0
	for _, s := range shapes {
		rank = max(rank, len(s))
	}
	out := make([]int, rank)
	for k := range out {
		out[k] = 1
		for _, s := range shapes {
			j := k - rank + len(s)
			if j < 0 || s[j] == 1 || s[j] == out[k] {
				continue
			}
			if out[k] != 1 {
				return nil, fmt.Errorf("shapes %v do not broadcast: axis %d from the end is %d and %d", shapes, rank-k, out[k], s[j])
			}
			out[k] = s[j]
		}
	}
	return out, nil
}

// broadcastsTo reports whether a tensor of shape from broadcasts to shape to without changing it.
func broadcastsTo(from, to []int) bool {
	s, err := broadcastShape(from, to)
	return err == nil && slices.Equal(s, to)
}

// broadcastOffset is the position in a tensor of the given shape of the element that broadcasting puts at an index.
func broadcastOffset(shape, at []int) int {
	n := 0
	for k, d := range shape {
		n *= d
		if d != 1 {
			n += at[k+len(at)-len(shape)]
		}
	}
	return n
}

// eachBroadcast calls f for runs of elements of a result of shape out, in row-major order: n elements from k on are those of operands of shapes
// a and b from i and j on, of which each goes on by one (step 1) or stays (step 0).
func eachBroadcast(out, a, b []int, f func(i, stepA, j, stepB, k, n int)) {
	extent := func(s []int, axis int) int {
		if axis -= len(out) - len(s); axis < 0 {
			return 1
		}
		return s[axis]
	}
	// The last axes are one as long as each operand has all of them or none.
	axis, n, stepA, stepB := len(out), 1, 0, 0
	for axis > 0 {
		d := out[axis-1]
		nextA, nextB := min(extent(a, axis-1)-1, 1), min(extent(b, axis-1)-1, 1)
		if d != 1 {
			if n != 1 && (nextA != stepA || nextB != stepB) {
				break
			}
			stepA, stepB = nextA, nextB
		}
		axis, n = axis-1, n*d
	}
	at, k := make([]int, len(out)), 0
	eachIndex(out[:axis], func(outer []int) {
		copy(at, outer)
		f(broadcastOffset(a, at), stepA, broadcastOffset(b, at), stepB, k, n)
		k += n
	})
}

// broadcastIndex is broadcastOffset for tensor expressions: the index into a tensor of the given shape for element i of
// a result of shape out. An axis that is not stretched keeps its variable.
func broadcastIndex(shape, out []int, i []expr.Expr) []expr.Expr {
	index := make([]expr.Expr, len(shape))
	for k, d := range shape {
		j := k + len(out) - len(shape)
		if index[k] = i[j]; d != out[j] {
			index[k] = expr.Index(0)
		}
	}
	return index
}

// broadcastLoad loads what broadcasting puts at element i of a result of type out.
func broadcastLoad(s *te.Stage, out types.Tensor, i []expr.Expr) expr.Expr {
	return s.At(broadcastIndex(s.Type.Shape, out.Shape, i)...)
}
