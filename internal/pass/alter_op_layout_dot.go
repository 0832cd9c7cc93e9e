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
	rank, in := len(n.Out[0].Type.Shape), n.In[0].Type.Shape[1]
	blocked := l.channelLayout(rank)
	switch n.Impl.Name {
	case impl.Depthwise:
		l.want(n, 0, blocked)
		l.want(n, 2, types.Layout(fmt.Sprintf("%s%da", plainAxes(rank), l.lanes)))
	case impl.Direct:
		if in >= l.lanes && (!l.last || in/n.Attrs.(ops.ConvAttrs).Groups%impl.DotWidth == 0) {
			l.want(n, 0, blocked)
		} else {
			l.want(n, 0, types.ChannelBlocks(rank, (in+impl.DotWidth-1)/impl.DotWidth*impl.DotWidth))
		}
		axes := plainAxes(rank)
		l.want(n, 2, types.Layout(fmt.Sprintf("%s%s%s%da%db", axes[:1], axes[2:], axes[1:2], l.panel(n), impl.DotWidth)))
	default:
		return
	}
	l.SetLayout(n.Out[0], blocked)
}

// dotMatrix packs the constant operand of an integer matrix product into panels of a few vectors of columns by four rows.
func (l *layouts) dotMatrix(n *graph.Node) {
	if n.Impl.Name == impl.Packed {
		l.want(n, 2, types.Layout(fmt.Sprintf("BA%db%da", l.panel(n), impl.DotWidth)))
	}
}
