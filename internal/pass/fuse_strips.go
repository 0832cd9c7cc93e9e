package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// fuseStrips makes one group of a convolution's and that of a depthwise convolution or pooling which alone reads it, where
// the values between them do not stay in the L2 cache: their kernel computes them strip by strip.
//
//	group { conv2d; relu } → group { conv2d, depthwise; relu }   becomes   group { conv2d; relu; conv2d, depthwise; relu }
//
// Rows that two strips need are computed twice, so the time that memory takes has to be more than that.
func fuseStrips(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		w, ok := windowOf(n)
		if ok && w.data.Def != nil && r.Reader(w.data) != nil && c.worthStrips(w.data.Def, w) {
			r.Fuse(w.data.Def, n)
		}
	})
}

// A window is an operator that reads its data through windows of rows and columns, channel by channel.
type window struct {
	data  *graph.Value // outside the group
	node  *graph.Node  // in the group
	attrs ops.PoolAttrs
}

// windowOf finds the window operator of a group of one and pointwise nodes.
func windowOf(n *graph.Node) (w window, ok bool) {
	m := onlyAnchor(n)
	if m == nil {
		return w, false
	}
	w.node = m
	switch a := m.Attrs.(type) {
	case ops.ConvAttrs:
		k := m.In[1].Type.Shape
		if m.Op != ops.Conv2d || a.Groups < 2 || k[1] != 1 || k[0] != a.Groups || !m.In[1].IsConst() {
			return w, false
		}
		w.attrs = ops.PoolAttrs{PoolSize: k[2:], Strides: a.Strides, Padding: a.Padding, Dilation: a.Dilation}
	case ops.PoolAttrs:
		if w.attrs = a; m.Op != ops.MaxPool2d {
			return w, false
		}
	default:
		return w, false
	}
	i := slices.Index(n.Sub[0].Inputs, m.In[0])
	if i < 0 {
		return w, false
	}
	reads := 0
	for _, x := range n.Sub[0].Nodes {
		for _, v := range x.In {
			if v == m.In[0] {
				reads++
			}
		}
	}
	w.data = n.In[i]
	return w, reads == 1
}

// onlyAnchor returns the node of a group that is not pointwise, nil if it is not the only one or does not come first.
func onlyAnchor(n *graph.Node) *graph.Node {
	if len(n.Sub) != 1 || len(n.Out) != 1 {
		return nil
	}
	for i, m := range n.Sub[0].Nodes {
		if pointwise := m.Op.Fusion == op.Elementwise || m.Op.Fusion == op.Broadcast; pointwise == (i == 0) {
			return nil
		}
	}
	return n.Sub[0].Nodes[0]
}

// worthStrips reports whether p is the group of a convolution, with pointwise nodes behind it, that takes less time strip by
// strip in front of w.
func (c *Context) worthStrips(p *graph.Node, w window) bool {
	m := onlyAnchor(p)
	x, y := w.data.Type, w.node.Out[0].Type
	if m == nil || m.Op != ops.Conv2d || !m.In[1].IsConst() || len(p.Sub[0].Nodes) == 1 && len(m.In) < 3 {
		return false
	}
	taps := types.Count(m.In[1].Type.Shape[1:])
	if taps < 2 || types.Count(w.attrs.PoolSize) < 2 { // not a sum
		return false
	}
	blocked := types.ChannelBlocks(4, c.Target.Lanes(32))
	if a := m.Attrs.(ops.ConvAttrs); a.Groups != 1 || x.DType != types.F32 || x.Layout != blocked || y.Layout != blocked {
		return false
	}
	speed := c.Target.Speed()
	if x.Bytes() < c.Target.L2*3/4 || w.attrs.Strides[0] < 1 {
		return false
	}
	width := m.In[1].Type.Layout.BlockOf(0, 4)
	if width == 0 {
		return false
	}
	channels := x.Dims()[1] * c.Target.Lanes(32)
	panels := x.Shape[0] * ((channels + width - 1) / width)
	s := impl.Strip{
		Rows: y.Shape[2], Stride: w.attrs.Strides[0], Window: (w.attrs.PoolSize[0]-1)*w.attrs.Dilation[0] + 1,
		RowBytes: x.Bytes() / x.Shape[2] / panels, Panels: panels,
	}
	_, again := s.Choose(c.Target)
	perElement := 2*taps + pointwiseWork*(len(p.Sub[0].Nodes)-1)
	twice := again * float64(perElement) * float64(x.Elements()) / speed.Float32
	return twice < float64(x.Bytes())/speed.L3*exposed
}

// exposed is the share of the time on the way to and from the L3 cache that other work does not hide.
const exposed = 0.33

// pointwiseWork is about the number of operations that a pointwise node takes for an element.
const pointwiseWork = 10
