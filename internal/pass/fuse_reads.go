package pass

import (
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// operand describes v, which group a computes, to the kernel that all its readers are in.
func (f *fusion) operand(v *graph.Value, a *members) impl.Repeated {
	o := impl.Repeated{Elements: types.Count(v.Type.Shape), DType: v.Type.DType, Work: a.size.Work}
	for _, n := range f.Users(v) {
		reads := f.computed[n] * float64(max(1, f.places[n][v]))
		switch fusion := n.Op.Fusion; {
		case fusion == op.Elementwise || fusion == op.Broadcast || n.Op == ops.BroadcastTo:
			lines := spread(v, n)
			reads /= float64(lines)
			o.Single = lines > 1 && v.Type.Layout == ""
		case fusion == op.Injective || fusion == op.CommReduce:
			if n.Op == ops.Concatenate || fusion == op.CommReduce {
				reads *= float64(o.Elements) / float64(types.Count(n.Out[0].Type.Shape))
			}
			if v.Type.Layout == "" {
				o.Together = together(v, n)
			}
		}
		o.Reads = max(o.Reads, reads) // readers at the same place share what is computed
	}
	return o
}

// together is how many elements lie together of those that n moves of v, if they are parts of lines; 0: they may be whole lines.
func together(v *graph.Value, n *graph.Node) int {
	shape := n.Out[0].Type.Shape
	last := len(shape) - 1
	switch a := n.Attrs.(type) {
	case ops.ConcatenateAttrs:
		return types.Count(v.Type.Shape[a.Axis:])
	case ops.PadAttrs:
		for i := last; i >= 0; i-- {
			if a.PadBefore[i] != 0 || a.PadAfter[i] != 0 {
				return types.Count(shape[i:])
			}
		}
	case ops.TransposeAttrs:
		if last >= 0 && a.Axes[last] != last {
			return shape[last]
		}
	}
	return 0
}

// spread is for how many elements of n's innermost axes one of v stands.
func spread(v *graph.Value, n *graph.Node) int {
	shape, lines := n.Out[0].Type.Shape, 1
	for i := 1; i <= len(shape); i++ {
		if k := v.Type.Rank() - i; k >= 0 && v.Type.Shape[k] > 1 {
			break
		}
		lines *= shape[len(shape)-i]
	}
	return lines
}

// taken counts what m reads for the nodes of a, which it has taken in as operand o.
func (f *fusion) taken(a *members, o impl.Repeated) {
	times := o.Reads / float64(max(1, o.Elements))
	for _, n := range a.nodes {
		f.computed[n] *= times
	}
}

// placesOf is how many elements of each operand an element of a result is computed from.
func placesOf(x *impl.Expansion) map[*graph.Value]int {
	places := map[*graph.Value]int{}
	for v, read := range x.Reads {
		places[v.(*graph.Value)] = len(read)
	}
	return places
}
