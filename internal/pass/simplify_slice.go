package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/ops"
)

// simplifySlice reads what a slice is the slice of, so that the first one needs no memory for others that do.
//
//	slice(slice(x))   →   slice(x)
func simplifySlice(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.StridedSlice {
		return
	}
	p := n.In[0].Def
	if p == nil || p.Op != ops.StridedSlice || !plain(n) || !plain(p) || n.Out[0].Type.Elements() == 0 {
		return
	}
	a, b := n.Attrs.(ops.StridedSliceAttrs), p.Attrs.(ops.StridedSliceAttrs)
	rank := len(a.Begin)
	c := ops.StridedSliceAttrs{Begin: make([]int, rank), End: make([]int, rank), Strides: make([]int, rank)}
	for k, count := range n.Out[0].Type.Shape {
		c.Begin[k] = b.Begin[k] + a.Begin[k]*b.Strides[k]
		c.Strides[k] = a.Strides[k] * b.Strides[k]
		c.End[k] = c.Begin[k] + (count-1)*c.Strides[k] + 1
		if c.Strides[k] < 0 {
			c.End[k] -= 2
		}
	}
	r.Change(n, n.Op, c, p.In[0])
}
