package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// reachDepth is how many operators reach looks behind.
const reachDepth = 8

// reach is what the integers of v are at least and at most, by the operators that they come from: bytes that were widened stay small.
// What is no integer of at most 32 bits has none: lo is greater than hi.
func reach(v *graph.Value) (lo, hi int64) {
	if !v.Type.DType.IsInt() || v.Type.DType.Size() > 4 {
		return 1, 0
	}
	return reachOf(v, reachDepth)
}

func reachOf(v *graph.Value, depth int) (lo, hi int64) {
	least, most := v.Type.DType.IntRange()
	if c := v.Value(); c != nil && c.Len() > 0 {
		return reachOfConst(c)
	}
	if v.Def == nil || depth == 0 {
		return least, most
	}
	operand := func(i int) (lo, hi int64) {
		x := v.Def.In[i]
		if x.Type.DType.IsInt() && x.Type.DType.Size() <= 4 {
			return reachOf(x, depth-1)
		}
		return least, most + 1 // anything
	}
	switch n := v.Def; n.Op {
	case ops.Cast, ops.Reshape, ops.Transpose, ops.StridedSlice:
		lo, hi = operand(0)
	case ops.MaxPool2d:
		if lo, hi = operand(0); n.Attrs.(ops.PoolAttrs).CeilMode || slices.Max(n.Attrs.(ops.PoolAttrs).Padding) > 0 {
			lo = least // of a window that lies in the padding
		}
	case ops.Pad:
		lo, hi = operand(0)
		value := int64(n.Attrs.(ops.PadAttrs).Value)
		lo, hi = min(lo, value), max(hi, value)
	case ops.Add, ops.Subtract:
		lo, hi = operand(0)
		a, b := operand(1)
		if n.Op == ops.Subtract {
			a, b = -b, -a
		}
		lo, hi = lo+a, hi+b
	case ops.Concatenate:
		lo, hi = operand(0)
		for i := range n.In[1:] {
			a, b := operand(1 + i)
			lo, hi = min(lo, a), max(hi, b)
		}
	default:
		return least, most
	}
	if lo < least || hi > most { // it may wrap
		return least, most
	}
	return lo, hi
}

func reachOfConst(c *tensor.Tensor) (lo, hi int64) {
	lo, hi = c.Int(0), c.Int(0)
	for i := range c.Len() {
		lo, hi = min(lo, c.Int(i)), max(hi, c.Int(i))
	}
	return lo, hi
}
