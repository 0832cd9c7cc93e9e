package pass

import (
	"fmt"
	"slices"
	"strings"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
)

// sameConstant bounds the bytes of constants that are compared.
const sameConstant = 1 << 12

// eliminateCommonSubexpr replaces a node by an earlier one with the same operator, attributes and operands. Small constants are the same where their
// types and bytes are, since passes and importers write numbers wherever they need them.
func eliminateCommonSubexpr(c *Context) error {
	ids := map[any]int{}
	id := func(v *graph.Value) int {
		var key any = v
		if v.IsConst() && len(v.Const.Data) <= sameConstant {
			key = v.Type.String() + string(v.Const.Data)
		}
		if _, ok := ids[key]; !ok {
			ids[key] = len(ids)
		}
		return ids[key]
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
