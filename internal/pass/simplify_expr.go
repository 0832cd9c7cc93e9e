package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// simplifyExpr removes nodes that hand on their operand, such as a reshape, cast, transpose or slice to what it has
// already, moves reshapes out of the way, joins slices, and writes small powers and some divisions as products, which cost less. Products with constant matrices become dense layers.
func simplifyExpr(c *Context) error {
	return rewrite.Walk(c.Graph, simplifyPower, simplifyFactor, simplifyDivision, simplifyMatmul, simplifyReshape, simplifySlice, removeIdentity)
}

// removeIdentity removes a node that hands on its operand. No other rule removes a node for having no effect.
func removeIdentity(r *rewrite.Rewriter, n *graph.Node) {
	if !n.Identity() {
		return
	}
	// A graph output that is a graph input, a constant or another output still needs a kernel that copies it.
	if x, y := n.In[0], n.Out[0]; !r.IsOutput(y) || x.Def != nil && !r.IsOutput(x) {
		r.Replace(y, x)
	}
}

// simplifyPower turns x^2 into x*x and x^3 into x*x*x. A root would not do for x^0.5: it gives -0 for -0 and NaN for -Inf.
func simplifyPower(r *rewrite.Rewriter, n *graph.Node) {
	switch x := n.In; power(n) {
	case 2:
		r.Change(n, ops.Multiply, op.None{}, x[0], x[0])
	case 3:
		r.Change(n, ops.Multiply, op.None{}, r.Apply(ops.Multiply, op.None{}, x[0], x[0]), x[0])
	}
}

// power is the constant exponent of a power of floats, or 0.
func power(n *graph.Node) float64 {
	if n.Op != ops.Power || !n.In[1].IsConst() || n.In[1].Const.Len() != 1 || !n.In[0].Type.DType.IsFloat() || !n.In[0].Type.Equal(n.Out[0].Type) {
		return 0
	}
	return n.In[1].Const.Float(0)
}
