package pass

import (
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// simplifyExpr removes nodes that hand on their operand, such as a reshape, cast, transpose or slice to what it has
// already, moves reshapes out of the way, and writes small powers and some divisions as products, which cost less.
func simplifyExpr(c *Context) error {
	if err := simplifyPowers(c.Graph); err != nil {
		return err
	}
	simplifyDivisions(c.Graph)
	if err := simplifyReshapes(c.Graph); err != nil {
		return err
	}
	removeIdentities(c.Graph)
	return nil
}

// removeIdentities removes nodes that hand on their operand, and what nothing reads. No other pass removes a node for
// having no effect.
func removeIdentities(g *graph.Graph) {
	outs := map[*graph.Value]bool{}
	for _, o := range g.Outputs {
		outs[o] = true
	}
	for _, n := range g.Nodes {
		if !n.Identity() {
			continue
		}
		// A graph output that is a graph input or constant still needs a kernel that copies it.
		if outs[n.Out[0]] && (n.In[0].Def == nil || outs[n.In[0]]) {
			continue
		}
		if n.In[0].Name == "" {
			n.In[0].Name = n.Out[0].Name
		}
		g.Replace(n.Out[0], n.In[0])
		outs[n.In[0]] = outs[n.In[0]] || outs[n.Out[0]]
	}
	g.DeadCode()
}

// simplifyPowers turns x^2 into x*x and x^3 into x*x*x. A root would not do for x^0.5: it gives -0 for -0 and NaN for -Inf.
func simplifyPowers(g *graph.Graph) error {
	var nodes []*graph.Node
	for _, n := range g.Nodes {
		switch x := n.In; power(n) {
		case 2:
			n.Op, n.In = ops.Multiply, []*graph.Value{x[0], x[0]}
		case 3:
			b := &builder{origin: n.Origin}
			square := b.apply(ops.Multiply, op.None{}, x[0], x[0])
			if b.err != nil {
				return b.err
			}
			nodes = append(nodes, b.nodes...)
			n.Op, n.In = ops.Multiply, []*graph.Value{square, x[0]}
		}
		nodes = append(nodes, n)
	}
	g.Nodes = nodes
	return nil
}

// power is the constant exponent of a power of floats, or 0.
func power(n *graph.Node) float64 {
	if n.Op != ops.Power || !n.In[1].IsConst() || n.In[1].Const.Len() != 1 || !n.In[0].Type.DType.IsFloat() || !n.In[0].Type.Equal(n.Out[0].Type) {
		return 0
	}
	return n.In[1].Const.Float(0)
}
