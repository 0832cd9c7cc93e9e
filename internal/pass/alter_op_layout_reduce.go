package pass

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// softmax reads plain data where it normalises along an axis of pixels: in blocks of channels, or behind all of them, neighbours of a line
// lie apart.
func (l *layouts) softmax(n *graph.Node) {
	if n.Attrs.(ops.SoftmaxAttrs).Axis >= 2 {
		l.Want(n, 0, "")
	}
}

// reduce keeps the channel blocks of what is folded over some of its pixels' axes: sums then lie in lanes as they are read. Plain results
// would have neighbours in memory that are pixels, of which each lane reads another line. A result of one pixel for each channel is plain.
func (l *layouts) reduce(n *graph.Node) {
	a, ok := n.Attrs.(ops.ReduceAttrs)
	x, y := n.In[0].Type, n.Out[0].Type
	if !ok || len(a.Axis) == 0 || slices.Min(a.Axis) < 2 || len(y.Shape) < 3 || types.Count(y.Shape[2:]) == 1 {
		return
	}
	if x.Layout == l.channelLayout(len(x.Shape)) {
		l.SetLayout(n.Out[0], l.channelLayout(len(y.Shape)))
	}
}
