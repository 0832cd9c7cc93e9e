package pass

import (
	"fmt"

	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// dotConv lays out an integer convolution for dot products: as many input channels of a pixel next to each other as one adds, and the
// weights of a vector of output channels by these input channels in one piece.
func (l *layouts) dotConv(n *graph.Node) {
	rank, in := len(n.Out[0].Type.Shape), n.In[0].Type.Shape[1]
	blocked := l.channelLayout(rank)
	switch n.Impl.Name {
	case impl.Depthwise:
		l.Want(n, 0, blocked)
		l.Want(n, 2, types.Layout(fmt.Sprintf("%s%da", plainAxes(rank), l.lanes)))
	case impl.Direct:
		l.blockedDotConv(n, l.panel(n))
	case impl.Matrix:
		l.blockedDotConv(n, l.tilePanel(n))
	case impl.Grouped:
		a := n.Attrs.(ops.ConvAttrs)
		lanes := impl.GroupLanes(a.Groups, n.Out[0].Type.Shape[1], l.lanes)
		switch whole := in/a.Groups%dotWidth(n) == 0; {
		case whole && (lanes == l.lanes || lanes > 1 && !l.last):
			l.blockedDotConv(n, lanes)
		case lanes > 1 && !l.last && a.Strides[rank-3] > 1: // products of bytes one by one
			l.Want(n, 0, blocked)
			l.Want(n, 2, types.Layout(fmt.Sprintf("%s%da", plainAxes(rank), lanes)))
		default:
			l.pixelLanes(n)
			return
		}
	default:
		return
	}
	l.SetLayout(n.Out[0], blocked)
}

// blockedDotConv lays out the operands of a convolution of bytes, weights in panels of so many output channels.
func (l *layouts) blockedDotConv(n *graph.Node, panel int) {
	rank, in, width := len(n.Out[0].Type.Shape), n.In[0].Type.Shape[1], dotWidth(n)
	if in >= l.lanes && (!l.last || in/n.Attrs.(ops.ConvAttrs).Groups%width == 0) {
		l.Want(n, 0, l.channelLayout(rank))
	} else {
		l.Want(n, 0, types.ChannelBlocks(rank, (in+width-1)/width*width))
	}
	l.Want(n, 2, impl.DotFilters(rank, panel, width))
}

// dotWidth is the number of products of data and weights that a dot product of n adds.
func dotWidth(n *graph.Node) int { return impl.DotWidthOf(n.In[0].Type.DType, n.In[2].Type.DType) }

// dotMatrix packs the constant operand of an integer matrix product into panels of a few vectors of columns by the rows of a dot product,
// and fills rows of data up to whole dot products.
func (l *layouts) dotMatrix(n *graph.Node) {
	switch n.Impl.Name {
	case impl.Packed:
		l.Want(n, 2, impl.DotPanels(l.panel(n), dotWidth(n)))
	case impl.Matrix:
		l.Want(n, 2, impl.DotPanels(l.tilePanel(n), dotWidth(n)))
	default:
		return
	}
	if rows := impl.DotRows(n.In[0].Type.Shape, dotWidth(n)); rows != "" {
		l.Want(n, 0, rows)
	}
}

// tilePanel is the number of elements of the panels of tiles that were chosen for a node's weights.
func (l *layouts) tilePanel(n *graph.Node) int {
	return max(1, impl.PanelOf(n.Impl.Point)) * l.Target.Tiles().RowBytes / 4
}
