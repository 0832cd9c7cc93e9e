package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/ops"
)

// foldBias makes a sum with a number for each channel, behind a convolution without bias that nothing else reads, its bias: add(conv(x, w), b)
// becomes conv(x, w, b). Formats whose convolutions have no bias get the kernels of those whose convolutions have one.
func foldBias(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		if n.Op != ops.Add {
			return
		}
		x, b := constOperand(n)
		if b == nil || x.Def == nil || r.Reader(x) == nil || !n.Out[0].Type.Equal(x.Type) {
			return
		}
		conv := x.Def
		if !isConv(conv.Op) && !slices.Contains(ops.ConvTranspose[1:], conv.Op) || len(conv.In) != 2 {
			return
		}
		if bias := perChannel(b.Const, x.Type.Shape); bias != nil {
			r.Change(conv, conv.Op, conv.Attrs, conv.In[0], conv.In[1], graph.NewConst(b.Name, bias))
			r.Merge(n, conv)
		}
	})
}
