package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A channelRef is one channel, on axis 1, of a value.
type channelRef struct {
	from  *graph.Value
	index int
}

// A channelView describes a value that is made of whole channels of others: each element of refs is one of its channels,
// in row-major order of dims, the axes between the batch and the spatial ones. Channel shuffles need two of them.
type channelView struct {
	refs []channelRef
	dims []int
}

// maxViewed is the greatest number of channels that are followed, twice that of any network we know: a shape can say any.
const maxViewed = 8192

// channelViews describes the results of nodes that only move channels: concatenate, split and slice along the channels,
// and the reshapes and transposes of a channel shuffle.
type channelViews map[*graph.Value]*channelView

// of is v's view; that of a value that no such node makes refers to the value itself.
func (m channelViews) of(v *graph.Value) *channelView {
	if w := m[v]; w != nil {
		return w
	}
	if len(v.Type.Shape) < 3 || v.IsConst() || v.Type.Shape[1] > maxViewed {
		return nil
	}
	n := v.Type.Shape[1]
	w := &channelView{make([]channelRef, n), []int{n}}
	for i := range w.refs {
		w.refs[i] = channelRef{v, i}
	}
	return w
}

// add describes the results of n, when it only moves channels.
func (m channelViews) add(n *graph.Node) {
	if n.Op == ops.Concatenate {
		if w := m.joined(n); w != nil {
			m[n.Out[0]] = w
		}
		return
	}
	if len(n.In) == 0 {
		return
	}
	in := n.In[0]
	x := m.of(in)
	if x == nil {
		return
	}
	switch n.Op {
	case ops.Split:
		if a := n.Attrs.(ops.SplitAttrs); a.Axis == 1 && len(x.dims) == 1 {
			at := 0
			for i, size := range a.Sizes {
				m[n.Out[i]] = &channelView{x.refs[at : at+size], []int{size}}
				at += size
			}
		}
	case ops.StridedSlice:
		if w := x.sliced(in.Type, n.Attrs.(ops.StridedSliceAttrs)); w != nil {
			m[n.Out[0]] = w
		}
	case ops.Reshape:
		spatial := in.Type.Shape[1+len(x.dims):]
		to := n.Out[0].Type.Shape
		if at := len(to) - len(spatial); at > 1 && to[0] == in.Type.Shape[0] && slices.Equal(to[at:], spatial) && types.Count(to[1:at]) == len(x.refs) {
			m[n.Out[0]] = &channelView{x.refs, slices.Clone(to[1:at])}
		}
	case ops.Transpose:
		if w := x.transposed(n.Attrs.(ops.TransposeAttrs).Axes); w != nil {
			m[n.Out[0]] = w
		}
	}
}

func (m channelViews) joined(n *graph.Node) *channelView {
	w := &channelView{}
	if n.Attrs.(ops.ConcatenateAttrs).Axis != 1 {
		return nil
	}
	for _, v := range n.In {
		x := m.of(v)
		if x == nil || len(x.dims) != 1 || len(w.refs)+len(x.refs) > maxViewed {
			return nil
		}
		if w.refs = append(w.refs, x.refs...); len(w.refs) > maxViewed {
			return nil
		}
	}
	w.dims = []int{len(w.refs)}
	return w
}

func (x *channelView) sliced(t types.Tensor, a ops.StridedSliceAttrs) *channelView {
	for k, n := range t.Shape {
		if k != 1 && (a.Begin[k] != 0 || a.End[k] != n || a.Strides[k] != 1) {
			return nil
		}
	}
	if len(x.dims) != 1 {
		return nil
	}
	w := &channelView{}
	for i := a.Begin[1]; a.Strides[1] > 0 && i < a.End[1] || a.Strides[1] < 0 && i > a.End[1]; i += a.Strides[1] {
		w.refs = append(w.refs, x.refs[i])
	}
	w.dims = []int{len(w.refs)}
	return w
}

// transposed permutes the axes of channels; the others have to stay.
func (x *channelView) transposed(axes []int) *channelView {
	w := &channelView{}
	for k, a := range axes {
		switch moves := k >= 1 && k <= len(x.dims); {
		case moves && a >= 1 && a <= len(x.dims):
			w.dims = append(w.dims, x.dims[a-1])
		case a != k:
			return nil
		}
	}
	strides := make([]int, len(x.dims)) // of x, in channels
	n := 1
	for k := len(x.dims) - 1; k >= 0; k-- {
		strides[k] = n
		n *= x.dims[k]
	}
	for i := range x.refs {
		from := 0
		for k := len(w.dims) - 1; k >= 0; k-- {
			from += i % w.dims[k] * strides[axes[k+1]-1]
			i /= w.dims[k]
		}
		w.refs = append(w.refs, x.refs[from])
	}
	return w
}
