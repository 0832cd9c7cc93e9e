package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/ops"
)

// maxArgs is the greatest number of operands of a concatenation that becomes a kernel, in which each element chooses its
// operand: the code, and the time LLVM takes for one function, grow faster than it.
const maxArgs = 32

// splitArgs joins many operands in steps.
//
//	concatenate(x0 ... x99)   →   concatenate(concatenate(x0 ... x31), ... concatenate(x96 ... x99))
func splitArgs(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		for n.Op == ops.Concatenate && len(n.In) > maxArgs {
			var parts []*graph.Value
			for in := range slices.Chunk(n.In, maxArgs) {
				if len(in) > 1 {
					in = []*graph.Value{r.Apply(ops.Concatenate, n.Attrs, in...)}
				}
				parts = append(parts, in...)
			}
			r.Change(n, n.Op, n.Attrs, parts...)
		}
	})
}
