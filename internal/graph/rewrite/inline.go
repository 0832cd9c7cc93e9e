package rewrite

import (
	"slices"

	"lathe/internal/graph"
)

// Inline adds the nodes of a sub-graph, which is nobody's from then on, with in for its inputs, and returns its outputs.
func (r *Rewriter) Inline(body *graph.Graph, in []*graph.Value) []*graph.Value {
	outside := map[*graph.Value]*graph.Value{}
	for i, v := range body.Inputs {
		outside[v] = in[i]
	}
	enter := func(list []*graph.Value) []*graph.Value {
		list = slices.Clone(list)
		for i, v := range list {
			if w := outside[v]; w != nil {
				list[i] = w
			}
		}
		return list
	}
	for _, m := range body.Nodes {
		m.In = enter(m.In)
		for _, v := range m.Out {
			v.Name = "" // which may be taken here
		}
		r.Insert(m)
	}
	return enter(body.Outputs)
}
