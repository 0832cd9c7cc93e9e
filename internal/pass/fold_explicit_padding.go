package pass

import (
	"math"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// foldExplicitPadding makes padding that stands before a convolution or pooling an attribute of it.
//
//	conv2d(pad(x, 0)) {padding p}                             →   conv2d(x) {padding p + pad's}
//	max_pool2d(pad(x, v))                                     →   max_pool2d(x) {padding}, where v is less than all x, or no more and in no window alone
//	avg_pool2d(pad(x, 0)) {padding 0 or count_include_pad}    →   avg_pool2d(x) {padding, count_include_pad}
func foldExplicitPadding(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		if len(n.In) == 0 || n.In[0].Def == nil || n.In[0].Def.Op != ops.Pad || !plain(n.In[0].Def) || !plain(n) {
			return
		}
		p := n.In[0].Def
		a := p.Attrs.(ops.PadAttrs)
		if a.Mode != "constant" || len(a.PadBefore) < 3 || min(slices.Min(a.PadBefore), slices.Min(a.PadAfter)) < 0 || slices.Max(a.PadBefore[:2])+slices.Max(a.PadAfter[:2]) > 0 {
			return
		}
		var attrs any
		switch was := n.Attrs.(type) {
		case ops.ConvAttrs:
			if a.Value != 0 || !slices.Contains([]*op.Def{ops.Conv1d, ops.Conv2d, ops.Conv3d}, n.Op) {
				return
			}
			was.Padding = widened(was.Padding, a)
			attrs = was
		case ops.PoolAttrs:
			if was.CeilMode || !slices.Contains(ops.MaxPool[1:], n.Op) || !leastIn(a, was, p) {
				return
			}
			was.Padding = widened(was.Padding, a)
			attrs = was
		case ops.AvgPoolAttrs:
			if was.CeilMode || a.Value != 0 || slices.Max(was.Padding) > 0 && !was.CountIncludePad {
				return
			}
			was.Padding, was.CountIncludePad = widened(was.Padding, a), true
			attrs = was
		default:
			return
		}
		r.Change(n, n.Op, attrs, append([]*graph.Value{p.In[0]}, n.In[1:]...)...)
	})
}

// widened is the padding of a window with that of a node in front.
func widened(window []int, a ops.PadAttrs) []int {
	out, n := slices.Clone(window), len(window)/2
	for k := range n {
		out[k] += a.PadBefore[2+k]
		out[n+k] += a.PadAfter[2+k]
	}
	return out
}

// leastIn reports whether the padding's value is the result of no window that holds elements of x, and every window holds some: windows
// are longer than the padding on each side of an axis.
func leastIn(a ops.PadAttrs, w ops.PoolAttrs, pad *graph.Node) bool {
	for k, size := range w.PoolSize {
		n := len(w.PoolSize)
		if w.Dilation[k] != 1 || max(w.Padding[k]+a.PadBefore[2+k], w.Padding[n+k]+a.PadAfter[2+k]) >= size {
			return false
		}
	}
	return math.IsInf(a.Value, -1) || a.Value <= 0 && neverNegative(pad.In[0])
}

// neverNegative reports whether the operator that computes v gives no negative numbers.
func neverNegative(v *graph.Value) bool {
	for v.Def != nil {
		switch v.Def.Op {
		case ops.Relu, ops.Sigmoid, ops.Abs, ops.Exp, ops.Sqrt, ops.Softplus:
			return true
		case ops.Transpose, ops.Reshape, ops.MaxPool1d, ops.MaxPool2d, ops.MaxPool3d:
			v = v.Def.In[0]
		case ops.Clip:
			a := v.Def.Attrs.(ops.ClipAttrs)
			return a.HasMin && a.Min >= 0
		case ops.Minimum, ops.Maximum: // of two that are not, or a maximum with a number that is not
			known := 0
			for _, in := range v.Def.In {
				if t := in.Value(); t != nil && t.Len() == 1 && t.Float(0) >= 0 || t == nil && neverNegative(in) {
					known++
				}
			}
			return known == 2 || known == 1 && v.Def.Op == ops.Maximum
		default:
			return false
		}
	}
	return false
}
