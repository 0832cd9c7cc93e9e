package pass

import (
	"slices"
	"strings"

	"lathe/internal/byoc"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
)

// mergeComposite makes composites of the nodes that the patterns of external code generators find: those of an earlier generator first,
// of a generator in the order of its list, of a pattern from the outputs on, so that the longest is found.
//
//	relu(conv2d(x, w, b))   →   composite(x) {composite="dnnl.conv2d_relu"}
func mergeComposite(c *Context) error {
	if c.nested {
		return nil
	}
	for _, gen := range c.Codegens {
		if gen.Patterns == nil {
			continue
		}
		for _, p := range gen.Patterns(gen.Given) {
			if err := c.mergePattern(gen.Name, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Context) mergePattern(generator string, p byoc.Pattern) error {
	position := map[*graph.Node]int{}
	for i, n := range c.Graph.Nodes {
		position[n] = i
	}
	r, users := rewrite.New(c.Graph), c.Graph.Users()
	taken := map[*graph.Node]bool{}
	for _, n := range slices.Backward(slices.Clone(c.Graph.Nodes)) {
		nodes := p.Find(n, position, users, c.Graph.Outputs)
		if nodes == nil || slices.ContainsFunc(nodes, func(m *graph.Node) bool { return taken[m] }) {
			continue
		}
		if p.Check != nil {
			if err := p.Check(nodes); err != nil {
				c.refuse(n, generator, p.Name, err)
				continue
			}
		}
		for _, m := range nodes {
			taken[m] = true
		}
		r.Enclose(graph.Composite, graph.CompositeAttrs{Composite: generator + "." + p.Name}, nodes...)
	}
	return r.Finish()
}

// compositeOf is the generator of a composite; "" for other nodes.
func compositeOf(n *graph.Node) string {
	a, ok := n.Attrs.(graph.CompositeAttrs)
	if !ok {
		return ""
	}
	return a.Composite[:max(0, strings.LastIndexByte(a.Composite, '.'))]
}

// A Refusal says why an external code generator does not take a node.
type Refusal struct {
	Generator, Reason string
}

// refuse notes why a generator does not take n, as a composite or, with "", as it is.
func (c *Context) refuse(n *graph.Node, generator, composite string, why error) {
	reason := why.Error()
	if composite != "" {
		reason = composite + ": " + reason
	}
	if c.Refused == nil {
		c.Refused = map[*graph.Node][]Refusal{}
	}
	if said := (Refusal{generator, reason}); !slices.Contains(c.Refused[n], said) {
		c.Refused[n] = append(c.Refused[n], said)
	}
}
