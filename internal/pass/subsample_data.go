package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// subsampleData gathers the elements that strided convolutions by single elements read, where that takes less time.
//
//	conv2d(x, w) {1x1, strides 2}   →   conv2d(max_pool2d(x) {1x1, strides 2}, w) {1x1}
func subsampleData(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		rank := slices.Index([]any{1: ops.Conv1d, 2: ops.Conv2d, 3: ops.Conv3d}, any(n.Op))
		if rank < 1 || c.Target == nil || c.Target.VectorBits == 0 {
			return
		}
		a := n.Attrs.(ops.ConvAttrs)
		x, w, y := n.In[0].Type, n.In[1].Type, n.Out[0].Type
		if a.Groups != 1 || slices.Max(a.Strides) == 1 || slices.Max(a.Padding) > 0 || types.Count(w.Shape[2:]) != 1 {
			return
		}
		if y.DType != types.F32 || y.Elements() == 0 || x.Layout != "" {
			return
		}
		out, last := y.Shape, len(y.Shape)-1
		taken, err := c.decide(n, impl.SubsampleDecision(c.Target, impl.SparseConv{
			Images: out[0], Lines: types.Count(out[2:last]), Rows: out[last], In: w.Shape[1], Out: w.Shape[0], Bytes: x.Bytes(),
		}))
		if r.Fail(err); taken != "on" {
			return
		}
		ones := slices.Repeat([]int{1}, rank)
		data := r.Apply(ops.MaxPool[rank], ops.PoolAttrs{PoolSize: ones, Strides: a.Strides, Padding: make([]int, 2*rank), Dilation: ones}, n.In[0])
		a.Strides = ones
		v := r.Apply(n.Op, a, append([]*graph.Value{data}, n.In[1:]...)...)
		v.Def.Impl = n.Impl
		r.Replace(n.Out[0], v)
	})
}
