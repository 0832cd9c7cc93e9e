package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// alignSoftmax transposes what a softmax is taken of where its lines lie side by side, too few to fill vectors, and that takes less time.
//
//	nn.softmax(x[n, 384, 2]) {axis=1}   →   transpose(nn.softmax(transpose(x)[n, 2, 384]) {axis=2})
func alignSoftmax(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		a, ok := n.Attrs.(ops.SoftmaxAttrs)
		if !ok || c.Target == nil {
			return
		}
		x := n.In[0]
		beside := types.Count(x.Type.Shape[a.Axis+1:])
		if x.Type.Layout != "" || x.Type.Elements() == 0 || beside == 1 || beside >= c.Target.Lanes(8*x.Type.DType.Compute().Size()) {
			return
		}
		taken, err := c.decide(n, impl.SoftmaxDecision(c.Target, x.Type, x.Type.Shape[a.Axis], beside))
		if r.Fail(err); taken != "moved" {
			return
		}
		var order []int
		for i := range x.Type.Shape {
			if i != a.Axis {
				order = append(order, i)
			}
		}
		order = append(order, a.Axis)
		lines := r.Apply(ops.Transpose, ops.TransposeAttrs{Axes: order}, x)
		y := r.Apply(n.Op, ops.SoftmaxAttrs{Axis: len(order) - 1}, lines)
		y.Def.Impl = n.Impl
		r.Replace(n.Out[0], r.Apply(ops.Transpose, ops.TransposeAttrs{Axes: inverseOrder(order)}, y))
	}, joinTransposes, removeIdentity)
}
