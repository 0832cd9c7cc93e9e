package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// foldScaleForward multiplies a scale of the channels that a convolution reads into its weights instead, where that
// touches less memory. A scale that the network computes, as in squeeze-and-excitation, scales the weights at run time, unless
// these are to stay constants.
//
//	conv(multiply(x, s), w)   →   conv(x, multiply(w, s))
func foldScaleForward(r *rewrite.Rewriter, n *graph.Node, constant bool) {
	x, s := scaledInput(r, n)
	if s == nil || constant && !s.IsConst() {
		return
	}
	r.From(n.In[0].Def)
	in := slices.Clone(n.In)
	if in[0] = x; s.IsConst() {
		in[1] = multiplied(in[1], s.Const)
	} else {
		in[1] = r.Apply(ops.Multiply, op.None{}, in[1], s)
	}
	r.Change(n, n.Op, n.Attrs, in...)
}

// scaledInput returns the two operands of the product that n convolves, when the second is a factor per channel that may
// go into the weights.
func scaledInput(r *rewrite.Rewriter, n *graph.Node) (x, s *graph.Value) {
	if !isConv(n.Op) || !n.In[1].IsConst() || n.Attrs.(ops.ConvAttrs).Groups != 1 {
		return nil, nil
	}
	y, w := n.In[0], n.In[1].Type
	p := y.Def
	if p == nil || p.Op != ops.Multiply || r.Reader(y) == nil {
		return nil, nil
	}
	for i, v := range p.In {
		if factorPerChannel(v.Type, y.Type) && slices.Equal(p.In[1-i].Type.Shape, y.Type.Shape) {
			x, s = p.In[1-i], v
		}
	}
	if s == nil || x.IsConst() || !s.IsConst() && 2*types.Count(w.Shape) > types.Count(y.Type.Shape) {
		return nil, nil
	}
	return x, s
}

// factorPerChannel reports whether s varies along axis 1 of t only, and has all axes that t and its weights have.
func factorPerChannel(s, t types.Tensor) bool {
	if len(s.Shape) != len(t.Shape) || s.Shape[1] != t.Shape[1] {
		return false
	}
	return types.Count(s.Shape) == t.Shape[1]
}
