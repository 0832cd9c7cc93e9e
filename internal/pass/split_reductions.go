package pass

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// splitReductions folds large tensors to a few elements in two steps, the second one over the outer axes: workers divide the
// parts of the first, and each sum is still computed by one.
//
//	sum(x[64, 1000])   →   sum(sum(x, axis 1, keep_dims))
//
// Normalisations of large tensors over a few sets are such folds too (splitNorm).
func splitReductions(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		splitNorm(c, r, n)
		a, ok := n.Attrs.(ops.ReduceAttrs)
		results := types.Count(n.Out[0].Type.Shape)
		if !ok || !inSteps(n) || results == 0 || impl.EnoughParts(results) || c.Target == nil || c.Target.ISA().OneWorker {
			return
		}
		inner, each := innerAxes(a, n)
		if each < 2 {
			return
		}
		pays := impl.PartsPay(c.Target, n.In[0].Type.Bytes(), each)
		if first := n.In[0].Def; !pays && first != nil && first.Op == n.Op { // it is a second step
			return
		}
		taken, err := c.decide(n, choice.Whether("two_steps", pays))
		if r.Fail(err); taken == "on" {
			r.Change(n, n.Op, a, r.Apply(n.Op, ops.ReduceAttrs{Axis: inner, KeepDims: true}, n.In[0]))
		}
	})
}

// inSteps reports whether parts of n's reduction fold to the same: they lie in memory between the steps, where sums of
// float16 are rounded, and a mean of integers truncates.
func inSteps(n *graph.Node) bool {
	t := n.Out[0].Type.DType
	switch n.Op {
	case ops.Max, ops.Min, ops.Any, ops.AllOf:
		return true
	case ops.Sum, ops.Prod:
		return t == t.Compute()
	case ops.Mean:
		return t == t.Compute() && t.IsFloat()
	}
	return false
}

// innerAxes are the axes of n's reduction inside those that make parts enough, and the elements that a part folds.
func innerAxes(a ops.ReduceAttrs, n *graph.Node) (inner []int, each int) {
	parts := types.Count(n.Out[0].Type.Shape)
	each = 1
	for k, extent := range n.In[0].Type.Shape {
		switch {
		case len(a.Axis) > 0 && !slices.Contains(a.Axis, k):
		case !impl.EnoughParts(parts):
			parts *= extent
		default:
			inner, each = append(inner, k), each*extent
		}
	}
	return inner, each
}
