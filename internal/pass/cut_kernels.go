package pass

import (
	"slices"

	"lathe/internal/byoc"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
)

// leaveCutKernels leaves to the compiler what a generator takes of one of its kernels only in part, for generators that want whole ones.
func (c *Context) leaveCutKernels() error {
	whole := slices.DeleteFunc(slices.Clone(c.Codegens), func(gen byoc.Chosen) bool { return gen.Whole == nil || !gen.Whole(gen.Given) })
	if len(whole) == 0 || c.Kernels == nil {
		return nil
	}
	g := c.Graph.Clone()
	if err := inlineAll(g); err != nil {
		return err
	}
	kernels, err := c.Kernels(g)
	if err != nil {
		return err
	}
	of := map[string][]*graph.Node{} // by a node of the model: what computes it
	for _, n := range c.Graph.Nodes {
		for _, name := range n.Origin {
			of[name] = append(of[name], n)
		}
	}
	c.cut = map[*graph.Node][]string{}
	for _, gen := range whole {
		taken := map[*graph.Node]bool{}
		for _, n := range c.Graph.Nodes {
			taken[n] = c.takes(gen, n) == nil
		}
		for changed := true; changed; { // a composite may be parts of several kernels
			changed = false
			for _, kernel := range kernels {
				var nodes []*graph.Node
				for _, name := range kernel {
					nodes = append(nodes, of[name]...)
				}
				if !slices.ContainsFunc(nodes, func(n *graph.Node) bool { return !taken[n] }) {
					continue
				}
				for _, n := range nodes {
					if taken[n] {
						taken[n], changed = false, true
						c.cut[n] = append(c.cut[n], gen.Name)
					}
				}
			}
		}
	}
	return nil
}

// inlineAll puts the nodes of all composites in their place.
func inlineAll(g *graph.Graph) error {
	return rewrite.Walk(g, func(r *rewrite.Rewriter, n *graph.Node) {
		if n.Op != graph.Composite {
			return
		}
		r.From(n)
		for i, v := range r.Inline(n.Sub[0], n.In) {
			r.Replace(n.Out[i], v)
		}
	})
}
