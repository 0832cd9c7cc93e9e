package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/ops"
)

// cutPaddedTaps leaves out the ends of kernels that meet nothing but padding: of small maps, and of large dilations.
//
//	conv2d(x, w) {3x3, padding 1}, where x is 1x1   →   conv2d(x, strided_slice(w)) {1x1, padding 0}
//
// One tap has no dilation. Weights that the network computes stay as they are, for to cut them takes time.
func cutPaddedTaps(c *Context) error {
	constants := map[*graph.Value]bool{}
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		weight := 0
		switch {
		case slices.Contains(ops.Conv[1:], n.Op):
			weight = 1
		case slices.Contains(ops.QnnConv[1:], n.Op):
			weight = 2
		}
		if weight == 0 || !plain(n) || !ofConstants(n.In[weight], constants) || n.Out[0].Type.Elements() == 0 {
			return
		}
		a := n.Attrs.(ops.ConvAttrs)
		a.Padding, a.Dilation = slices.Clone(a.Padding), slices.Clone(a.Dilation)
		dilated := false // where one tap is left
		w := n.In[weight].Type.Shape
		cut := ops.StridedSliceAttrs{Begin: make([]int, len(w)), End: slices.Clone(w), Strides: slices.Repeat([]int{1}, len(w))}
		for k, rank := 0, len(w)-2; k < rank; k++ {
			before, after := a.Padding[k], a.Padding[rank+k]
			first, end := metTaps(n.In[0].Type.Shape[2+k], n.Out[0].Type.Shape[2+k], w[2+k], a.Strides[k], a.Dilation[k], before, after)
			a.Padding[k], a.Padding[rank+k] = before-first*a.Dilation[k], after-(w[2+k]-end)*a.Dilation[k]
			cut.Begin[2+k], cut.End[2+k] = first, end
			if end-first == 1 && a.Dilation[k] > 1 {
				a.Dilation[k], dilated = 1, true
			}
		}
		in := slices.Clone(n.In)
		switch {
		case slices.Max(cut.Begin) > 0 || !slices.Equal(cut.End, w):
			in[weight] = r.Apply(ops.StridedSlice, cut, n.In[weight])
		case !dilated:
			return
		}
		r.Change(n, n.Op, a, in...)
	})
}

// metTaps are the taps of an axis from the first to before the last that some result reads within the data. As many are left out on each side as there is
// padding for.
func metTaps(in, out, taps, stride, dilation, before, after int) (first, end int) {
	met := func(tap int) bool {
		at := tap*dilation - before // of the first result
		return at < in && at+(max(0, -at)+stride-1)/stride*stride < in && at+(out-1)*stride >= 0
	}
	end = taps
	for first < min(taps-1, before/dilation) && !met(first) {
		first++
	}
	for end-1 > first && (taps-end+1)*dilation <= after && !met(end-1) {
		end--
	}
	return first, end
}

// ofConstants reports whether v depends on constants only. What is known of values is kept, for many nodes may read one.
func ofConstants(v *graph.Value, known map[*graph.Value]bool) bool {
	if v.Def == nil {
		return v.Value() != nil
	}
	only, ok := known[v]
	if !ok {
		only = !slices.ContainsFunc(v.Def.In, func(x *graph.Value) bool { return !ofConstants(x, known) })
		known[v] = only
	}
	return only
}
