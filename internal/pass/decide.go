package pass

import (
	"cmp"
	"fmt"

	"lathe/internal/choice"
	"lathe/internal/graph"
)

// decide asks something for a node, and writes what was taken into it.
func (c *Context) decide(n *graph.Node, d choice.Decision) (taken string, err error) {
	err = c.ask(n, func(log *choice.Log) error {
		_, err := log.Decide(d)
		taken = log.Taken[d.Name]
		return err
	})
	return taken, err
}

// ask runs f with a log of decisions on a node, and writes what was taken into the node.
func (c *Context) ask(n *graph.Node, f func(*choice.Log) error) error {
	name := c.nameOf(n)
	log := choice.Log{}
	if c.Chooser != nil {
		log.Chooser = c.Chooser(name)
	}
	if err := f(&log); err != nil {
		return fmt.Errorf("choices: node %q (%s): %w", name, n.Op.Name, err)
	}
	if len(log.Asked) > 0 {
		n.Impl = n.Impl.With(log.Taken)
		n.Impl.Of = name
		c.Asked[name] = append(c.Asked[name], log.Asked...)
	}
	return nil
}

// noteNames notes the names under which nodes have decisions, those in loops included.
func (c *Context) noteNames(g *graph.Graph) {
	for _, n := range g.Nodes {
		if n.Impl.Of != "" {
			c.names[n.Impl.Of] = true
		}
		for _, s := range n.Sub {
			c.noteNames(s)
		}
	}
}

// nameOf is the name of a node for decisions: that of the first node of the model that it stems from, numbered from the second
// on where several do.
func (c *Context) nameOf(n *graph.Node) string {
	if n.Impl.Of != "" {
		return n.Impl.Of
	}
	base := n.Op.Name
	if len(n.Origin) > 0 {
		base = cmp.Or(n.Origin[0], base)
	}
	name := base
	for i := 2; c.names[name]; i++ {
		name = fmt.Sprintf("%s#%d", base, i)
	}
	c.names[name] = true
	return name
}
