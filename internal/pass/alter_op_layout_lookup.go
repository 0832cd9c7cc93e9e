package pass

import (
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// gridSample gives images that are sampled at computed places blocks of channels where that takes less time than to load the
// elements one by one.
func (l *layouts) gridSample(n *graph.Node) {
	x, y := n.In[0].Type, n.Out[0].Type
	l.Want(n, 1, "")
	rank := len(x.Shape)
	if l.last || y.Elements() == 0 || x.DType.Compute() != types.F32 {
		l.Want(n, 0, "")
		return
	}
	taps := map[string]int{"nearest": 1, "linear": 2, "cubic": 4}[n.Attrs.(ops.GridSampleAttrs).Method]
	u := impl.LookUp{
		Channels: y.Shape[1], Pixels: y.Elements() / y.Shape[1], Taps: 1,
		Blocked: x.Layout != "", Moved: x.Elements() + y.Elements(),
	}
	for range rank - 2 {
		u.Taps *= taps
	}
	taken, err := l.decide(n, impl.LookUpDecision(l.Target, u))
	if l.Fail(err); taken != "channels" {
		l.Want(n, 0, "")
		return
	}
	l.Want(n, 0, l.channelLayout(rank))
	l.SetLayout(n.Out[0], l.channelLayout(rank))
}
