package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// smooth are functions after which a last bit of their argument does not matter: nothing rounds to whole numbers there.
var smooth = []*op.Def{ops.Erf, ops.Tanh, ops.Sigmoid, ops.Exp, ops.Softmax}

// simplifyDivision turns a division by a constant into a product with its inverse where only smooth functions read the
// quotient, as in erf(x / sqrt(2)): a vector division takes as long as a third of erf. Elsewhere it stays, because the
// last bit of a quotient decides ties of a model that rounds it.
func simplifyDivision(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.Divide || !n.In[1].IsConst() || n.In[1].Const.Len() != 1 || !n.Out[0].Type.IsPlain(types.F32) || r.IsOutput(n.Out[0]) {
		return
	}
	readers := r.Users(n.Out[0])
	rough := slices.ContainsFunc(readers, func(r *graph.Node) bool { return !slices.Contains(smooth, r.Op) })
	if c := n.In[1].Const.Inverse(); c != nil && len(readers) > 0 && !rough {
		r.Change(n, ops.Multiply, op.None{}, n.In[0], graph.NewConst("", c))
	}
}
