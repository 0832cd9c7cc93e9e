package graph

import "slices"

// Clone copies g: nodes, values and sub-graphs, sharing operators, attributes and the bytes of constants. Passes change
// graphs in place; who wants to keep one clones it first.
func (g *Graph) Clone() *Graph {
	c := &Graph{Name: g.Name}
	made := map[*Value]*Value{}
	value := func(v *Value) *Value {
		if v == nil {
			return nil
		}
		if made[v] == nil {
			w := *v
			made[v] = &w
		}
		return made[v]
	}
	values := func(vs []*Value) []*Value {
		var list []*Value
		for _, v := range vs {
			list = append(list, value(v))
		}
		return list
	}
	c.Inputs = values(g.Inputs)
	for _, n := range g.Nodes {
		m := *n
		m.In, m.Out = values(n.In), values(n.Out)
		m.Origin = slices.Clone(n.Origin)
		m.Sub = nil
		for _, s := range n.Sub {
			m.Sub = append(m.Sub, s.Clone())
		}
		for _, o := range m.Out {
			o.Def = &m
		}
		c.Nodes = append(c.Nodes, &m)
	}
	c.Outputs = values(g.Outputs)
	return c
}
