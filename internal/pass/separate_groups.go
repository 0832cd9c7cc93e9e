package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// mostSeparated is the most groups of a convolution, or matrices of a stack, that are computed by themselves, each of which is a kernel to compile.
const mostSeparated = 16

// separateGroups makes a convolution of its own of each group of an integer convolution, where channels of groups fill vectors or dot products in part
// and that takes less time.
//
//	qnn.conv2d(x, w) {groups=2}   →   concatenate(qnn.conv2d(x[first half], w[first half]), qnn.conv2d(x[second half], w[second half]))
func separateGroups(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		a, ok := n.Attrs.(ops.ConvAttrs)
		if !ok || c.Target == nil || c.Target.VectorBits == 0 || len(n.In) < 4 || a.Groups == 1 || a.Groups > mostSeparated || n.Out[0].Type.Elements() == 0 {
			return
		}
		x, w, y := n.In[0].Type, n.In[2].Type, n.Out[0].Type
		in, out := x.Shape[1]/a.Groups, y.Shape[1]/a.Groups
		width, lanes := impl.DotWidthOf(x.DType, w.DType), c.Target.Lanes(32)
		if width == 0 || in == 1 || !n.In[2].IsConst() || n.In[1].Type.Elements() != 1 || n.In[3].Type.Elements() != 1 ||
			impl.GroupLanes(a.Groups, y.Shape[1], lanes) == lanes && in%width == 0 {
			return
		}
		lines, rows := impl.ConvImage(a, x, w, y)
		taken, err := c.decide(n, impl.SeparateDecision(c.Target, impl.IntegerGroups{
			Groups: a.Groups, PerGroup: out, In: in, Taps: types.Count(w.Shape[2:]), Width: width,
			Lines: y.Shape[0] * lines, Rows: rows, Stride: a.Strides[len(a.Strides)-1], Data: x.Bytes(), Result: y.Bytes(),
		}))
		if r.Fail(err); taken != "apart" {
			return
		}
		groups, one := make([]*graph.Value, a.Groups), a
		one.Groups = 1
		for i := range groups {
			groups[i] = r.Apply(n.Op, one, partOf(r, n.In[0], 1, i*in, in), n.In[1], partOf(r, n.In[2], 0, i*out, out), n.In[3])
			groups[i].Def.Impl = n.Impl
		}
		r.Replace(n.Out[0], r.Apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, groups...))
	})
}

// partOf is so many places of an axis of v.
func partOf(r *rewrite.Rewriter, v *graph.Value, axis, from, size int) *graph.Value {
	s := ops.StridedSliceAttrs{Begin: make([]int, v.Type.Rank()), End: slices.Clone(v.Type.Shape), Strides: slices.Repeat([]int{1}, v.Type.Rank())}
	s.Begin[axis], s.End[axis] = from, from+size
	return r.Apply(ops.StridedSlice, s, v)
}
