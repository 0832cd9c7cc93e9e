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

// sameNodes numbers values by what they are. Small constants are the same where their types and bytes are, since passes and importers write
// numbers wherever they need them.
type sameNodes map[any]int

func (ids sameNodes) id(v *graph.Value) int {
	var key any = v
	if v.IsConst() && v.Const.Size() <= sameConstant {
		key = v.Type.String() + string(v.Const.Bytes())
	}
	if _, ok := ids[key]; !ok {
		ids[key] = len(ids)
	}
	return ids[key]
}

// key is the same for nodes, but those with bodies, that have the same operator, attributes and operands.
func (ids sameNodes) key(n *graph.Node) string {
	var key strings.Builder
	fmt.Fprintf(&key, "%s %+v", n.Op.Name, n.Attrs)
	for _, v := range n.In {
		fmt.Fprintf(&key, " %d", ids.id(v))
	}
	return key.String()
}

// eliminateCommonSubexpr replaces a node by an earlier one that is the same.
func eliminateCommonSubexpr(c *Context) error {
	ids := sameNodes{}
	seen := map[string]*graph.Node{}
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		if len(n.Sub) > 0 {
			return
		}
		key := ids.key(n)
		switch old := seen[key]; {
		case old == nil:
			seen[key] = n
		case slices.ContainsFunc(old.Out, r.IsOutput) && slices.ContainsFunc(n.Out, r.IsOutput): // both have to be written
		default:
			r.Merge(n, old)
		}
	})
}
