package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// simplifyMatmul turns a matrix product with a constant matrix into a dense layer, so that a network has the same kernels whether its format
// keeps weights by rows or by columns.
func simplifyMatmul(r *rewrite.Rewriter, n *graph.Node) {
	a, ok := n.Attrs.(ops.MatmulAttrs)
	if !ok || n.Op != ops.Matmul || a.TransposeA || !n.In[1].IsConst() || n.In[1].Type.Rank() != 2 || n.In[1].Type.Layout != "" {
		return
	}
	w := n.In[1]
	if !a.TransposeB {
		w = graph.NewConst(w.Name, ops.Transposed(w.Const, 1, 0))
	}
	r.Change(n, ops.Dense, op.None{}, n.In[0], w)
}

// simplifyFactor removes factors of 1. Sums with 0 stay: they turn -0 into 0.
func simplifyFactor(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.Multiply {
		return
	}
	x, one := constOperand(n)
	if one == nil || one.Const.Len() != 1 || one.Const.Float(0) != 1 || !n.Out[0].Type.Equal(x.Type) || x.Type.DType == types.Bool {
		return
	}
	if y := n.Out[0]; !r.IsOutput(y) || x.Def != nil && !r.IsOutput(x) {
		r.Replace(y, x)
	}
}
