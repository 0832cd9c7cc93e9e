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
//
// The other way round, short lines of whose elements the place of the greatest is wanted become lanes.
//
//	argmax(x[n, 3]) {axis=1}   →   argmax(transpose(x)[3, n]) {axis=0}
func alignSoftmax(c *Context) error {
	return rewrite.Walk(c.Graph, c.alignArg, func(r *rewrite.Rewriter, n *graph.Node) {
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

// alignArg makes lanes of the short lines of an argmax or argmin, where that takes less time.
func (c *Context) alignArg(r *rewrite.Rewriter, n *graph.Node) {
	a, ok := n.Attrs.(ops.ArgAttrs)
	if !ok || c.Target == nil || c.Target.VectorBits == 0 {
		return
	}
	x := n.In[0]
	line := x.Type.Shape[a.Axis]
	if a.Axis != x.Type.Rank()-1 || x.Type.Layout != "" || line < 2 || x.Type.Elements() == line || x.Type.Elements() == 0 {
		return
	}
	taken, err := c.decide(n, impl.ArgDecision(c.Target, x.Type, line))
	if r.Fail(err); taken != "moved" {
		return
	}
	order := []int{a.Axis}
	for i := range a.Axis {
		order = append(order, i)
	}
	moved := ops.ArgAttrs{SelectLastIndex: a.SelectLastIndex}
	y := r.Apply(n.Op, moved, r.Apply(ops.Transpose, ops.TransposeAttrs{Axes: order}, x))
	y.Def.Impl = n.Impl
	if a.KeepDims {
		y = r.Apply(ops.Reshape, ops.ReshapeAttrs{NewShape: n.Out[0].Type.Shape}, y)
	}
	r.Replace(n.Out[0], y)
}
