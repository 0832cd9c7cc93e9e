package pass

import (
	"fmt"

	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// dotConv lays out an integer convolution for dot products: four input channels of a pixel next to each other, and the
// weights of a vector of output channels by four input channels in one piece.
func (l *layouts) dotConv(n *graph.Node) {
	a := n.Attrs.(ops.ConvAttrs)
	x, w, y := n.In[0].Type, n.In[2].Type, n.Out[0].Type
	rank := len(y.Shape)
	in, out := x.Shape[1], y.Shape[1]
	blocked := l.channelLayout(rank)
	depthwise := a.Groups > 1 && w.Shape[1] == 1 && out == in
	switch {
	case l.plain || x.DType.Size() > 1 || out < l.lanes:
		return
	case depthwise:
		l.want(n, 0, blocked)
		l.want(n, 2, types.Layout(fmt.Sprintf("%s%da", plainAxes(rank), l.lanes)))
		l.SetLayout(n.Out[0], blocked)
		return
	case a.Groups > 1 && (out/a.Groups%l.lanes != 0 || in/a.Groups%l.lanes != 0):
		return
	}
	if in >= l.lanes && (!l.last || in/a.Groups%impl.DotWidth == 0) {
		l.want(n, 0, blocked)
	} else {
		l.want(n, 0, types.ChannelBlocks(rank, (in+impl.DotWidth-1)/impl.DotWidth*impl.DotWidth))
	}
	_, rows := pixels(a, x, w, y)
	t := impl.ChooseDotTile(l.Target, rows, (out/a.Groups+l.lanes-1)/l.lanes)
	axes := plainAxes(rank)
	l.want(n, 2, types.Layout(fmt.Sprintf("%s%s%s%da%db", axes[:1], axes[2:], axes[1:2], t.Vecs*l.lanes, impl.DotWidth)))
	l.SetLayout(n.Out[0], blocked)
}

// dotMatrix packs the constant operand of an integer matrix product into panels of a few vectors of columns by four rows.
func (l *layouts) dotMatrix(n *graph.Node) {
	x, w, y := n.In[0].Type, n.In[2], n.Out[0].Type
	if !w.IsConst() || len(w.Type.Shape) != 2 || x.DType.Size() > 1 || w.Type.Shape[1] < l.lanes || w.Type.Shape[0]%impl.DotWidth != 0 {
		return
	}
	rows := types.Count(y.Shape[:len(y.Shape)-1])
	t := impl.ChooseDotTile(l.Target, rows, (w.Type.Shape[1]+l.lanes-1)/l.lanes)
	l.want(n, 2, types.Layout(fmt.Sprintf("BA%db%da", t.Vecs*l.lanes, impl.DotWidth)))
}
