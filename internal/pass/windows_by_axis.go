package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// separateWindows folds windows axis by axis where that takes less time, those of poolings and of interpolations: the greatest element of a
// window is the greatest of those of its lines. So with averages, whose divisors are products over the axes.
//
//	max_pool2d(x) {5x5}   →   max_pool2d(max_pool2d(x) {5x1}) {1x5}
//	resize(x) {7x4 to 9x5}   →   resize(resize(x) {7x4 to 9x4}) {9x4 to 9x5}
func separateWindows(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		y := n.Out[0].Type
		if c.Target == nil || y.Elements() == 0 {
			return
		}
		var steps []any // attributes of what is folded one after the other
		var fold impl.WindowFold
		if a, ok := poolOf(n); ok {
			steps, fold = a.byAxis(n)
		} else if a, ok := n.Attrs.(ops.ResizeAttrs); ok && y.DType == y.DType.Compute() {
			steps, fold = resizesOf(n, a)
		}
		if len(steps) < 2 {
			return
		}
		taken, err := c.decide(n, impl.WindowsDecision(c.Target, fold))
		if r.Fail(err); taken != "by axis" {
			return
		}
		x := n.In[0]
		for i, a := range steps {
			if x = r.Apply(n.Op, a, x); i == 0 {
				x.Def.Impl = n.Impl
			}
		}
		r.Replace(n.Out[0], x)
	})
}

// resizesOf are the resizes along one axis each.
func resizesOf(n *graph.Node, a ops.ResizeAttrs) (steps []any, fold impl.WindowFold) {
	resizes, axes := a.ByAxis(n.In[0].Type.Shape)
	fold.Bytes = n.Out[0].Type.DType.Size()
	for i, s := range resizes {
		last := len(s.Sizes) - 1
		row, stride := 0, 1
		if !fromConv(n.In[0]) {
			if row = s.Sizes[last]; axes[i] == last {
				stride = row // places are no fixed number of elements apart
			}
		}
		taps := 2
		if a.Method == "cubic" {
			taps = 4
		}
		steps = append(steps, s)
		fold.Taps, fold.Left, fold.Rows = append(fold.Taps, taps), append(fold.Left, types.Count(s.Sizes)), append(fold.Rows, row)
		fold.Strides = append(fold.Strides, stride)
	}
	return steps, fold
}

// A pool is the attributes of a maximum or average pooling.
type pool struct {
	ops.PoolAttrs
	average, countPads bool
}

// poolOf gives the attributes of a pooling whose windows may be folded axis by axis: what lies between is rounded as the result is.
func poolOf(n *graph.Node) (p pool, ok bool) {
	switch a := n.Attrs.(type) {
	case ops.PoolAttrs:
		return pool{PoolAttrs: a}, slices.Contains(ops.MaxPool[1:], n.Op)
	case ops.AvgPoolAttrs:
		d := n.Out[0].Type.DType
		return pool{ops.PoolAttrs{PoolSize: a.PoolSize, Strides: a.Strides, Padding: a.Padding, Dilation: a.Dilation, CeilMode: a.CeilMode}, true, a.CountIncludePad}, d == d.Compute()
	}
	return p, false
}

// byAxis are the poolings along each axis along which windows are more than the element itself; none where a window reads nothing.
func (p pool) byAxis(n *graph.Node) (steps []any, fold impl.WindowFold) {
	if !p.EachReads(n.In[0].Type.Shape) {
		return nil, fold
	}
	left := slices.Clone(n.In[0].Type.Shape)
	fold.Bytes = n.Out[0].Type.DType.Size()
	along := !fromConv(n.In[0]) && left[len(left)-1] > 1 // vectors lie along the last axis
	for k, taps := range p.PoolSize {
		if taps == 1 && p.Strides[k] == 1 && p.Padding[k] == 0 && p.Padding[len(p.PoolSize)+k] == 0 {
			continue
		}
		left[2+k] = n.Out[0].Type.Shape[2+k]
		row, stride := 0, 1
		if along {
			row = left[len(left)-1]
			if k == len(p.PoolSize)-1 {
				stride = p.Strides[k]
			}
		}
		steps = append(steps, p.along(k))
		fold.Taps, fold.Left, fold.Rows = append(fold.Taps, taps), append(fold.Left, types.Count(left)), append(fold.Rows, row)
		fold.Strides = append(fold.Strides, stride)
	}
	return steps, fold
}

// fromConv reports whether v comes from a convolution by few operators that keep its axes, so that it lies in blocks of channels.
func fromConv(v *graph.Value) bool {
	seen := map[*graph.Value]bool{v: true}
	next := []*graph.Value{v}
	for range reachDepth {
		from := next
		next = nil
		for _, v := range from {
			if v.Def == nil {
				continue
			}
			if isAnyConv(v.Def) {
				return true
			}
			for _, x := range v.Def.In {
				if len(x.Type.Shape) == len(v.Type.Shape) && !seen[x] {
					seen[x] = true
					next = append(next, x)
				}
			}
		}
	}
	return false
}

// along is the pooling along one axis only.
func (p pool) along(k int) any {
	rank := len(p.PoolSize)
	a := ops.PoolAttrs{
		PoolSize: slices.Repeat([]int{1}, rank), Strides: slices.Repeat([]int{1}, rank), Padding: make([]int, 2*rank),
		Dilation: slices.Repeat([]int{1}, rank), CeilMode: p.CeilMode,
	}
	a.PoolSize[k], a.Strides[k], a.Dilation[k] = p.PoolSize[k], p.Strides[k], p.Dilation[k]
	a.Padding[k], a.Padding[rank+k] = p.Padding[k], p.Padding[rank+k]
	if p.average {
		return ops.AvgPoolAttrs{PoolSize: a.PoolSize, Strides: a.Strides, Padding: a.Padding, Dilation: a.Dilation, CeilMode: a.CeilMode, CountIncludePad: p.countPads}
	}
	return a
}
