package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// axes says how a node is computed with its axes in another order.
type axes struct {
	rank  int
	in    []int                 // operands that get the order, by the rule of broadcasting; the others stay
	attrs func(order []int) any // the attributes then; axis k is what was axis order[k]
	drops []int                 // axes that results lack, whose order is the same then
}

// keepsRest reports whether the axes that are not dropped keep their order.
func (a *axes) keepsRest(order []int) bool {
	rest := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return slices.Contains(a.drops, i) })
	return slices.IsSorted(rest)
}

// axesAlike is nil for nodes whose meaning is bound to the order of axes, such as a convolution, and for those that need
// not be asked: a transpose is no part of a region.
func axesAlike(n *graph.Node) *axes {
	if len(n.In) == 0 || len(n.Sub) > 0 || len(n.Out) == 0 {
		return nil
	}
	y := n.Out[0].Type
	a := &axes{rank: len(y.Shape), in: []int{0}}
	switch attrs := n.Attrs.(type) {
	case ops.QuantizeAttrs:
		a.attrs = func(o []int) any { attrs.Axis = place(o, attrs.Axis); return attrs }
		if attrs.BlockSize > 0 {
			return nil
		}
	case ops.DequantizeAttrs:
		a.attrs = func(o []int) any { attrs.Axis = place(o, attrs.Axis); return attrs }
		if attrs.BlockSize > 0 {
			return nil
		}
	case ops.BatchNormAttrs:
		a.attrs = func(o []int) any { attrs.Axis = place(o, attrs.Axis); return attrs }
	case ops.SoftmaxAttrs:
		a.attrs = func(o []int) any { attrs.Axis = place(o, attrs.Axis); return attrs }
	case ops.SplitAttrs:
		a.attrs = func(o []int) any { attrs.Axis = place(o, attrs.Axis); return attrs }
	case ops.ConcatenateAttrs:
		a.attrs = func(o []int) any { attrs.Axis = place(o, attrs.Axis); return attrs }
		a.in = all(n.In)
	case ops.PadAttrs:
		a.attrs = func(o []int) any {
			attrs.PadBefore, attrs.PadAfter = permuted(attrs.PadBefore, o), permuted(attrs.PadAfter, o)
			return attrs
		}
	case ops.StridedSliceAttrs:
		a.attrs = func(o []int) any {
			return ops.StridedSliceAttrs{Begin: permuted(attrs.Begin, o), End: permuted(attrs.End, o), Strides: permuted(attrs.Strides, o)}
		}
	case ops.ReduceAttrs:
		a.rank = len(n.In[0].Type.Shape)
		if !attrs.KeepDims {
			a.drops = attrs.Axis
		}
		if len(attrs.Axis) == 0 {
			return nil
		}
		a.attrs = func(o []int) any {
			list := make([]int, len(attrs.Axis))
			for i, x := range attrs.Axis {
				list[i] = place(o, x)
			}
			slices.Sort(list)
			return ops.ReduceAttrs{Axis: list, KeepDims: attrs.KeepDims}
		}
	default:
		if n.Op.Layout != op.Same || n.Op.Fusion != op.Elementwise && n.Op.Fusion != op.Broadcast {
			return nil
		}
		a.attrs = func([]int) any { return attrs }
		a.in = all(n.In)
	}
	if a.rank < 3 {
		return nil
	}
	return a
}

// place is where an axis is found in an order of axes. Quantisation by tensor has an axis that means nothing and need
// not exist.
func place(order []int, axis int) int { return max(0, slices.Index(order, axis)) }

func all(in []*graph.Value) []int {
	list := make([]int, len(in))
	for i := range in {
		list[i] = i
	}
	return list
}
