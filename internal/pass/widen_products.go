package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// widenProducts computes products of 16-bit floats on operands of float32 where that takes less time than to widen them
// wherever a product reads them. What is computed is the same: sums are of float32, and rounded once.
//
//	nn.conv2d(x, w)   →   cast(nn.conv2d(cast(x), cast(w)))
func widenProducts(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		if !isAnyProduct(n) || c.Target == nil {
			return
		}
		y := n.Out[0].Type
		if y.DType.Compute() != types.F32 || y.DType == types.F32 || y.Elements() == 0 {
			return
		}
		taken, err := c.decide(n, impl.WidenDecision(c.Target, narrowProduct(n)))
		if r.Fail(err); taken != "on" {
			return
		}
		in := make([]*graph.Value, len(n.In))
		for i, v := range n.In {
			in[i] = r.Apply(ops.Cast, ops.CastAttrs{DType: types.F32}, v)
		}
		wide := r.Apply(n.Op, n.Attrs, in...)
		wide.Def.Impl = n.Impl // what is decided later is decided for the product
		r.Replace(n.Out[0], r.Apply(ops.Cast, ops.CastAttrs{DType: y.DType}, wide))
	})
}

// isAnyProduct reports whether n is a convolution or a matrix product of numbers that are no quantised ones.
func isAnyProduct(n *graph.Node) bool { return isConv(n.Op) || n.Op == ops.Dense || n.Op == ops.Matmul }

func narrowProduct(n *graph.Node) impl.NarrowProduct {
	y, w := n.Out[0].Type, n.In[1].Type
	p := impl.NarrowProduct{Type: y.DType, Macs: float64(y.Elements())}
	for _, v := range n.In {
		if !v.IsConst() {
			p.Data += v.Type.Elements()
		}
	}
	if isConv(n.Op) {
		p.Macs *= float64(types.Count(w.Shape[1:]))
		p.Lanes = n.Attrs.(ops.ConvAttrs).Groups > 1 && w.Shape[1] == 1
		return p
	}
	p.Macs *= float64(w.Shape[len(w.Shape)-1-ops.ColumnsOf(n.Attrs)])
	return p
}
