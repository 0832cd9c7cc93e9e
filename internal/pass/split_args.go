package pass

import (
	"fmt"

	"lathe/internal/graph"
	"lathe/internal/ops"
)

// maxArgs is the greatest number of operands of a concatenation that becomes a kernel, in which each element chooses its
// operand: the code, and the time LLVM takes for one function, grow faster than it.
const maxArgs = 32

// splitArgs joins many operands in steps.
//
//	concatenate(x0 ... x99)   →   concatenate(concatenate(x0 ... x31), ... concatenate(x96 ... x99))
func splitArgs(c *Context) error {
	var nodes []*graph.Node
	for _, n := range c.Graph.Nodes {
		if n.Op == ops.Concatenate {
			for len(n.In) > maxArgs {
				b := &builder{origin: n.Origin}
				var parts []*graph.Value
				for at := 0; at < len(n.In); at += maxArgs {
					in := n.In[at:min(at+maxArgs, len(n.In))]
					if len(in) == 1 {
						parts = append(parts, in[0])
						continue
					}
					parts = append(parts, b.apply(ops.Concatenate, n.Attrs, in...))
				}
				if b.err != nil {
					return fmt.Errorf("node %q: %w", n.Origin, b.err)
				}
				nodes, n.In = append(nodes, b.nodes...), parts
			}
		}
		nodes = append(nodes, n)
	}
	c.Graph.Nodes = nodes
	return nil
}
