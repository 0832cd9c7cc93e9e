package pass

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
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
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		if len(n.Sub) > 0 {
			return
		}
		var key strings.Builder
		fmt.Fprintf(&key, "%s %+v", n.Op.Name, n.Attrs)
		for _, v := range n.In {
			fmt.Fprintf(&key, " %d", id(v))
		}
		switch old := seen[key.String()]; {
		case old == nil:
			seen[key.String()] = n
		case slices.ContainsFunc(old.Out, r.IsOutput) && slices.ContainsFunc(n.Out, r.IsOutput): // both have to be written
		default:
			r.Merge(n, old)
		}
	})
}
