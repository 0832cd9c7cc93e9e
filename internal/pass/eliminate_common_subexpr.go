package pass

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/graph"
)

// eliminateCommonSubexpr replaces a node by an earlier one with the same operator, attributes and operands.
func eliminateCommonSubexpr(c *Context) error {
	ids := map[*graph.Value]int{}
	id := func(v *graph.Value) int {
		if _, ok := ids[v]; !ok {
			ids[v] = len(ids)
		}
		return ids[v]
	}
	seen := map[string]*graph.Node{}
	for _, n := range c.Graph.Nodes {
		if len(n.Sub) > 0 {
			continue
		}
		var key strings.Builder
		fmt.Fprintf(&key, "%s %+v", n.Op.Name, n.Attrs)
		for _, v := range n.In {
			fmt.Fprintf(&key, " %d", id(v))
		}
		old, ok := seen[key.String()]
		if !ok {
			seen[key.String()] = n
			continue
		}
		if isOutput(c.Graph, old) && isOutput(c.Graph, n) {
			continue // both outputs have to be written
		}
		old.Origin = append(old.Origin, n.Origin...)
		for i, o := range n.Out {
			c.Graph.Replace(o, old.Out[i])
		}
	}
	c.Graph.DeadCode()
	return nil
}

func isOutput(g *graph.Graph, n *graph.Node) bool {
	return slices.ContainsFunc(n.Out, func(v *graph.Value) bool { return slices.Contains(g.Outputs, v) })
}
