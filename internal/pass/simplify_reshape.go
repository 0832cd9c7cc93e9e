package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// simplifyReshape makes reshapes fewer and moves them out of the way of fusion; between kernels they cost nothing.
//
//	transpose that moves axes of one element only         →   reshape
//	reshape(reshape(x))                                    →   reshape(x)
//	reshape(dense(x)) + y                                  →   reshape(dense(x) + reshape(y))
func simplifyReshape(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op == ops.Transpose && plain(n) && movesUnits(n) {
		r.Change(n, ops.Reshape, reshapeTo(n.Out[0]), n.In[0])
	}
	if n.Op == ops.Reshape && plain(n) {
		if p := n.In[0].Def; p != nil && p.Op == ops.Reshape && plain(p) {
			r.Change(n, n.Op, n.Attrs, p.In[0])
		}
	}
	sinkReshape(r, n)
}

// reshapeTo is the reshape to v's shape.
func reshapeTo(v *graph.Value) ops.ReshapeAttrs {
	return ops.ReshapeAttrs{NewShape: slices.Clone(v.Type.Shape)}
}

func plain(n *graph.Node) bool { return n.In[0].Type.Layout == "" && n.Out[0].Type.Layout == "" }

// movesUnits reports whether a transpose keeps the order of all axes of more than one element.
func movesUnits(n *graph.Node) bool {
	var moved []int
	for _, a := range n.Attrs.(ops.TransposeAttrs).Axes {
		if n.In[0].Type.Shape[a] != 1 {
			moved = append(moved, a)
		}
	}
	return slices.IsSorted(moved)
}

// sinkReshape turns n, a sum of the reshaped result of a heavy operator and another value of its shape, into the reshape of
// the sum, so that the sum can join the operator's kernel.
func sinkReshape(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.Add || r.IsOutput(n.Out[0]) {
		return
	}
	for i, v := range n.In {
		other, wide := n.In[1-i], reshapedHeavy(r, v)
		same := v.Type.Equal(n.Out[0].Type) && other.Type.Equal(n.Out[0].Type)
		if !same || other.Def == nil || wide == nil || reshapedHeavy(r, other) != nil {
			continue
		}
		in := []*graph.Value{wide, wide}
		if p := other.Def; p.Op == ops.Reshape && plain(p) && p.In[0].Type.Equal(wide.Type) {
			in[1-i] = p.In[0]
		} else {
			in[1-i] = r.Apply(ops.Reshape, reshapeTo(wide), other)
		}
		r.Change(n, ops.Reshape, reshapeTo(n.Out[0]), r.Apply(ops.Add, op.None{}, in...))
		return
	}
}

// reshapedHeavy is what v reshapes, if that is the result of a heavy operator and elementwise ones behind it, for v alone.
func reshapedHeavy(r *rewrite.Rewriter, v *graph.Value) *graph.Value {
	single := func(v *graph.Value) bool { return v.Def != nil && r.Reader(v) != nil }
	if !single(v) || v.Def.Op != ops.Reshape || !plain(v.Def) {
		return nil
	}
	x := v.Def.In[0]
	for y := x; single(y) && len(y.Def.Out) == 1; {
		switch y.Def.Op.Fusion {
		case op.OutFusable:
			return x
		case op.Elementwise, op.Broadcast:
			y = y.Def.In[0]
			continue
		}
		return nil
	}
	return nil
}
