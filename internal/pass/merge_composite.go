package pass

import (
	"context"
	"errors"
	"fmt"
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
		if gen.Claim != nil {
			if err := c.mergeClaims(gen); err != nil {
				return fmt.Errorf("external code generator %s: %w", gen.Name, err)
			}
			continue
		}
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

// mergeClaims asks a generator what it takes at once, and makes its composites.
func (c *Context) mergeClaims(gen byoc.Chosen) error {
	ctx := c.Ctx
	if ctx == nil {
		ctx = context.Background()
	}
	claims, err := gen.Claim(ctx, c.Graph, gen.Given)
	if err != nil {
		return err
	}
	for n, why := range claims.Refused {
		c.refuse(n, gen.Name, "", errors.New(why))
	}
	if c.claimed == nil {
		c.claimed = map[*graph.Node][]string{}
	}
	users := c.Graph.Users()
	r := rewrite.New(c.Graph)
	for _, t := range claims.Taken {
		if t.Name == "" {
			for _, n := range t.Members {
				c.claimed[n] = append(c.claimed[n], gen.Name)
			}
			continue
		}
		if err := composable(t.Members, users, c.Graph.Outputs); err != nil {
			return fmt.Errorf("composite %s: %w", t.Name, err)
		}
		r.Enclose(graph.Composite, graph.CompositeAttrs{Composite: gen.Name + "." + t.Name}, t.Members...)
	}
	return r.Finish()
}

// composable refuses nodes that are no composite: of which more than one has readers elsewhere, or that hold others already. What one node
// alone hands on is convex.
func composable(nodes []*graph.Node, users map[*graph.Value][]*graph.Node, outputs []*graph.Value) error {
	var last *graph.Node
	for _, n := range nodes {
		if len(n.Sub) > 0 {
			return fmt.Errorf("node %q is a composite or a region already", n.Origin)
		}
		for _, o := range n.Out {
			read := slices.ContainsFunc(users[o], func(m *graph.Node) bool { return !slices.Contains(nodes, m) })
			if !read && !slices.Contains(outputs, o) {
				continue
			}
			if last != nil && last != n {
				return fmt.Errorf("others read the results of both %q and %q", last.Origin, n.Origin)
			}
			last = n
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
