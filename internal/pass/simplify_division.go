package pass

import (
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// smooth are functions after which a last bit of their argument does not matter: nothing rounds to whole numbers there.
var smooth = []*op.Def{ops.Erf, ops.Tanh, ops.Sigmoid, ops.Exp, ops.Softmax}

// simplifyDivision turns a division by a constant into a product with its inverse where only smooth functions read the
// quotient, as in erf(x / sqrt(2)): a vector division takes as long as a third of erf. Elsewhere it stays, because the
// last bit of a quotient decides ties of a model that rounds it.
func simplifyDivision(r *rewrite.Rewriter, n *graph.Node) {
	if n.Op != ops.Divide || !n.In[1].IsConst() || n.In[1].Const.Len() != 1 || !plainFloat(n.Out[0].Type) || r.IsOutput(n.Out[0]) {
		return
	}
	readers := r.Users(n.Out[0])
	rough := slices.ContainsFunc(readers, func(r *graph.Node) bool { return !slices.Contains(smooth, r.Op) })
	if c := inverse(n.In[1]); c != nil && len(readers) > 0 && !rough {
		r.Change(n, ops.Multiply, op.None{}, n.In[0], c)
	}
}

// inverse is 1/c for a constant of one element, or nil where that is no normal number.
func inverse(c *graph.Value) *graph.Value {
	x := float64(float32(1 / c.Const.Float(0)))
	if math.IsInf(x, 0) || !(math.Abs(x) >= 0x1p-126) {
		return nil
	}
	t := tensor.NewOf(c.Type)
	t.SetFloat(0, x)
	return graph.NewConst("", t)
}
