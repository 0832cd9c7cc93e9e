// Package strips computes a convolution strip by strip in the kernel of what reads it through windows of rows.
package strips

import (
	"cmp"
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/lower"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/types"
)

// Algorithm schedules the groups that Fuse makes.
var Algorithm = impl.Algorithm{
	Rule: &impl.Rule{Name: "strips", Applies: applies, Apply: schedule},
	Tag: func(p choice.Point) string {
		if p["strips"] == "on" {
			return lower.Strips
		}
		return ""
	},
	NodeDecisions: []impl.DecisionInfo{
		{Name: "strips", Owner: "FuseStrips", Doc: "whether a convolution is computed strip by strip in the kernel of what reads it through windows"},
	},
	Decisions: []impl.DecisionInfo{{Name: "strip_rows", Owner: "strips", Doc: "rows of the result that are computed at a time"}},
}

// Fuse makes one group of a convolution's and that of a depthwise convolution or pooling which alone reads it, where
// the values between them do not stay in the L2 cache: their kernel computes them strip by strip.
//
//	group { conv2d; relu } → group { conv2d, depthwise; relu }   becomes   group { conv2d; relu; conv2d, depthwise; relu }
//
// Rows that two strips need are computed twice, so the time that memory takes has to be more than that.
func Fuse(g *graph.Graph, t *target.Target, ask impl.Ask) error {
	return rewrite.Walk(g, func(r *rewrite.Rewriter, n *graph.Node) {
		w, ok := windowOf(n)
		if !ok || w.data.Def == nil || r.Reader(w.data) == nil || !canStrip(t, w.data.Def, w) {
			return
		}
		last := w.data.Def.Sub[0].Outputs[0].Def // its stage is what windows read
		last.Impl.Of = cmp.Or(last.Impl.Of, onlyAnchor(w.data.Def).Impl.Of)
		taken, err := ask(last, stripsOf(t, w.data.Def, w))
		if r.Fail(err); err == nil && taken == "on" {
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
	if n.Op != graph.Group || len(n.Out) != 1 {
		return nil
	}
	for i, m := range n.Sub[0].Nodes {
		if pointwise := m.Op.Fusion == op.Elementwise || m.Op.Fusion == op.Broadcast; pointwise == (i == 0) {
			return nil
		}
	}
	return n.Sub[0].Nodes[0]
}

// canStrip reports whether p is the group of a convolution, with pointwise nodes behind it, that can be computed strip by
// strip in front of w.
func canStrip(t *target.Target, p *graph.Node, w window) bool {
	m := onlyAnchor(p)
	x, y := w.data.Type, w.node.Out[0].Type
	if m == nil || m.Op != ops.Conv2d || !m.In[1].IsConst() || len(p.Sub[0].Nodes) == 1 && len(m.In) < 3 {
		return false
	}
	taps := types.Count(m.In[1].Type.Shape[1:])
	if taps < 2 || types.Count(w.attrs.PoolSize) < 2 { // not a sum
		return false
	}
	blocked := types.ChannelBlocks(4, t.Lanes(32))
	if a := m.Attrs.(ops.ConvAttrs); a.Groups != 1 || x.DType != types.F32 || x.Layout != blocked || y.Layout != blocked {
		return false
	}
	return w.attrs.Strides[0] >= 1 && impl.PanelOf(m.Impl.Point) > 0
}

// stripsOf is the decision on a group p that canStrip in front of w.
func stripsOf(t *target.Target, p *graph.Node, w window) choice.Decision {
	m := onlyAnchor(p)
	x, y := w.data.Type, w.node.Out[0].Type
	width := impl.PanelOf(m.Impl.Point) * t.Lanes(32)
	channels := x.Dims()[1] * t.Lanes(32)
	panels := x.Shape[0] * ((channels + width - 1) / width)
	s := strip{
		Rows: y.Shape[2], Stride: w.attrs.Strides[0], Window: (w.attrs.PoolSize[0]-1)*w.attrs.Dilation[0] + 1,
		RowBytes: x.Bytes() / x.Shape[2] / panels, Panels: panels,
	}
	return s.decision(t, x, types.Count(m.In[1].Type.Shape[1:]), len(p.Sub[0].Nodes)-1)
}
