package pass

import (
	"slices"

	"lathe/internal/byoc"
	"lathe/internal/graph"
)

// inlineComposites puts the nodes of composites in their place, so that the compiler's own kernels can compute what they say. Before,
// it notes the regions as external code generators compile them.
func inlineComposites(c *Context) error {
	if !c.nested && len(c.Codegens) > 0 {
		c.noteRegions()
	}
	if !slices.ContainsFunc(c.Graph.Nodes, func(n *graph.Node) bool { return n.Op == graph.Composite }) {
		return nil
	}
	return inlineAll(c.Graph)
}

// noteRegions fills in c.Regions and c.Offloads.
func (c *Context) noteRegions() {
	for _, n := range c.Graph.Nodes {
		a, ok := n.Attrs.(graph.ExternalAttrs)
		if !ok {
			c.Offloads = append(c.Offloads, c.offload(n, Offload{})...)
			continue
		}
		c.Regions = append(c.Regions, Region{a.Compiler, c.region(n, a)})
		for _, m := range n.Sub[0].Nodes {
			c.Offloads = append(c.Offloads, c.offload(m, Offload{Generator: a.Compiler, Symbol: a.Symbol})...)
		}
	}
}

// A Region is a region and the name of its generator.
type Region struct {
	Generator string
	byoc.Region
}

// An Offload says who computes a node.
type Offload struct {
	Operator  string   // Relay's name
	Nodes     []string // of the model
	Generator string   // "" : the compiler's own kernels
	Composite string   // that it is a part of, "" for none
	Number    int      // of the composite, from 1 on; 0 for none
	Symbol    string   // of the region
	Refusals  []Refusal
}

// offload tells of n, or of the nodes of a composite.
func (c *Context) offload(n *graph.Node, of Offload) []Offload {
	if a, ok := n.Attrs.(graph.CompositeAttrs); ok {
		of.Composite = a.Composite
		if of.Generator == "" { // refused as a whole
			of.Composite = ""
		} else {
			of.Number = c.composites + 1
			c.composites++
		}
		var list []Offload
		for _, m := range n.Sub[0].Nodes {
			one := c.offload(m, of)
			for i := range one {
				one[i].Refusals = slices.Concat(one[i].Refusals, c.Refused[n])
			}
			list = append(list, one...)
		}
		return list
	}
	one := Offload{Operator: n.Op.Name, Nodes: n.Origin, Generator: of.Generator, Composite: of.Composite, Number: of.Number, Symbol: of.Symbol}
	if of.Generator == "" {
		one.Refusals = c.Refused[n]
	}
	list := []Offload{one}
	for _, body := range n.Bodies() {
		for _, m := range body.Nodes {
			list = append(list, c.inside(m)...)
		}
	}
	return list
}

// inside tells of n, a node of a body, and of those in its own bodies: no generator is asked for them.
func (c *Context) inside(n *graph.Node) []Offload {
	one := Offload{Operator: n.Op.Name, Nodes: n.Origin}
	for _, gen := range c.Codegens {
		one.Refusals = append(one.Refusals, Refusal{gen.Name, errControlFlow.Error()})
	}
	list := []Offload{one}
	for _, body := range n.Sub {
		for _, m := range body.Nodes {
			list = append(list, c.inside(m)...)
		}
	}
	return list
}
