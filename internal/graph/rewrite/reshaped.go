package rewrite

import (
	"slices"

	"lathe/internal/graph"
)

// Reshaped is a copy of g whose values have other extents, by nodes with other attributes; nil where the types of a node do not come out so. What reads only values that keep their extents stays.
func Reshaped(g *graph.Graph, shape func(v *graph.Value) []int, attrs func(n *graph.Node) any) *graph.Graph {
	c := g.Clone()
	for i, v := range g.Inputs {
		c.Inputs[i].Type.Shape = shape(v)
	}
	for i, n := range g.Nodes {
		m := c.Nodes[i]
		same := true
		for k, v := range n.In {
			same = same && slices.Equal(m.In[k].Type.Shape, v.Type.Shape)
		}
		if same {
			continue
		}
		if m.Attrs = attrs(n); m.Infer() != nil {
			return nil
		}
		for k, v := range n.Out {
			if !slices.Equal(m.Out[k].Type.Shape, shape(v)) {
				return nil
			}
		}
	}
	return c
}

// SetBody gives a region that reads and writes the same values another body, and the attributes that go with it.
func (r *Rewriter) SetBody(n *graph.Node, attrs any, body *graph.Graph) {
	n.Attrs, n.Sub = attrs, []*graph.Graph{body}
}
