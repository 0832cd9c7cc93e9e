package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// foldScaleForward multiplies a scale of the channels that a convolution reads into its weights instead, where that
// touches less memory. A scale that the network computes, as in squeeze-and-excitation, scales the weights at run time.
//
//	conv(multiply(x, s), w)   →   conv(x, multiply(w, s))
func foldScaleForward(g *graph.Graph) {
	users := g.Users()
	var nodes []*graph.Node
	for _, n := range g.Nodes {
		if x, s := scaledInput(g, users, n); s != nil {
			m := &graph.Node{Op: ops.Multiply, Attrs: op.None{}, In: []*graph.Value{n.In[1], s}, Origin: slices.Clone(n.In[0].Def.Origin)}
			if err := m.Infer(); err != nil {
				panic(err)
			}
			n.In[0], n.In[1] = x, m.Out[0]
			if s.IsConst() {
				n.In[1] = multiplied(m.In[0], s.Const)
			} else {
				nodes = append(nodes, m)
			}
		}
		nodes = append(nodes, n)
	}
	g.Nodes = nodes
}

// scaledInput returns the two operands of the product that n convolves, when the second is a factor per channel that may
// go into the weights.
func scaledInput(g *graph.Graph, users map[*graph.Value][]*graph.Node, n *graph.Node) (x, s *graph.Value) {
	if !isConv(n.Op) || !n.In[1].IsConst() || n.Attrs.(ops.ConvAttrs).Groups != 1 {
		return nil, nil
	}
	y, w := n.In[0], n.In[1].Type
	p := y.Def
	if p == nil || p.Op != ops.Multiply || len(users[y]) != 1 || slices.Contains(g.Outputs, y) {
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
