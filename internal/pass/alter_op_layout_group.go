package pass

import (
	"slices"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// byChannels reports whether a convolution in narrow groups takes blocks of channels, of which so many are a vector, rather than
// plain layouts. What its data lie in is not known before layouts are given.
func (l *layouts) byChannels(n *graph.Node, lanes int) bool {
	x, y, g := n.In[0].Type, n.Out[0].Type, groupedConv(n)
	if l.last || y.Shape[1] < l.lanes && g.Stride == 1 {
		return false
	}
	if moved := x.Bytes() + g.Result; x.Layout != "" {
		g.MovedPixels = moved
	} else {
		g.MovedChannels = moved
	}
	return l.decideLanes(n, g, lanes)
}

// groupedConv is a convolution as its lanes are decided, before it is known what is moved.
func groupedConv(n *graph.Node) impl.GroupedConv {
	a := n.Attrs.(ops.ConvAttrs)
	w, y := n.In[1].Type, n.Out[0].Type.With("") // whatever layout it had before
	_, rows := impl.ConvImage(a, n.In[0].Type, w, y)
	return impl.GroupedConv{
		Groups: a.Groups, PerGroup: y.Shape[1] / a.Groups, Steps: types.Count(w.Shape[1:]),
		Lines: y.Shape[0] * types.Count(y.Shape[2:]) / rows, Rows: rows, Stride: a.Strides[len(a.Strides)-1], Result: y.Bytes(),
	}
}

// decideLanes asks whether so many channels are the lanes of a convolution, rather than pixels.
func (l *layouts) decideLanes(n *graph.Node, g impl.GroupedConv, lanes int) bool {
	by, err := g.ByChannels(l.Target, lanes, func(d choice.Decision) (string, error) { return l.decide(n, d) })
	l.Fail(err)
	return by
}

// alongLines reports whether a depthwise convolution takes plain layouts and vectors of pixels, rather than blocks of channels: where channels
// leave lanes of these empty, or data and result would be arranged for the few products that there are.
func (l *layouts) alongLines(n *graph.Node) bool {
	x, g := n.In[0], groupedConv(n)
	if l.last || l.asks(n) || x.Type.Layout != "" || !impl.Picked(g.Stride) || l.readInBlocks(n.Out[0], map[*graph.Value]bool{}) {
		return false
	}
	g.MovedChannels += l.arranged(x)
	if !l.goesMoved(n.Out[0], map[*graph.Value]bool{}) {
		g.MovedChannels += g.Result
	}
	return !l.decideLanes(n, g, l.lanes)
}

// arranged is how many bytes of plain data come into blocks of channels for a convolution: its part of what is arranged once for all that read x, as
// for the phases of a transposed one.
func (l *layouts) arranged(x *graph.Value) int {
	if l.cameMoved(x) || l.made[transform{x, l.channelLayout(x.Type.Rank())}] != nil {
		return 0
	}
	together := 0
	for _, n := range l.Users(x) {
		if isAnyConv(n) {
			together++
		}
	}
	return x.Type.Bytes() / together
}

// cameMoved reports whether v is transposed data, or computed of such element by element: to arrange it in blocks is to transpose it otherwise.
func (l *layouts) cameMoved(v *graph.Value) bool {
	for n := v.Def; n != nil && len(n.In) > 0; n = n.In[0].Def {
		if n.Op == ops.Transpose {
			return true
		}
		if n.Op != ops.Reshape && n.Op.Fusion != op.Elementwise {
			return false
		}
	}
	return false
}

// goesMoved reports whether v, or what is computed of it element by element or joined from it, is only transposed, or brought to places of which channels
// are a part.
func (l *layouts) goesMoved(v *graph.Value, seen map[*graph.Value]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	users := l.Users(v)
	return len(users) > 0 && !slices.ContainsFunc(users, func(n *graph.Node) bool {
		if n.Op == ops.Transpose || n.Op == ops.DepthToSpaceND {
			return false
		}
		return n.Op != ops.Concatenate && n.Op != ops.Reshape && n.Op.Fusion != op.Elementwise && n.Op.Fusion != op.Broadcast || !l.goesMoved(n.Out[0], seen)
	})
}

// pixelLanes gives a convolution plain data, of whose lines neighbours are read together. Where it strides too far over them to pick them from
// whole vectors, it is computed at every place, and those that it skips are left out: that costs the stride times the products, where no vectors
// would cost lanes.
func (l *layouts) pixelLanes(n *graph.Node) {
	l.Want(n, 0, "")
	a := n.Attrs.(ops.ConvAttrs)
	rank := len(a.Strides)
	step := a.Strides[rank-1]
	if impl.Picked(step) {
		return
	}
	a.Strides = append(slices.Clone(a.Strides[:rank-1]), 1)
	y := l.Apply(n.Op, a, n.In...)
	y.Def.Impl, n.Impl = n.Impl, graph.Impl{}
	s := ops.StridedSliceAttrs{Begin: make([]int, rank+2), End: slices.Clone(y.Type.Shape), Strides: slices.Repeat([]int{1}, rank+2)}
	s.Strides[rank+1] = step
	l.Change(n, ops.StridedSlice, s, y)
}

// fillsLines reports whether a convolution in one group takes plain layouts and vectors of pixels rather than blocks of channels, which what reads it
// through windows takes: one whose output channels do not fill vectors, or one of single pixels, a product, between data and results that are plain. Where all
// loads of a step come before its products, each row of weights would take a register for the factor that lanes share, and those stay in blocks.
func (l *layouts) fillsLines(n *graph.Node) bool {
	x, w, g, a := n.In[0].Type, n.In[1].Type, groupedConv(n), n.Attrs.(ops.ConvAttrs)
	if l.last || g.Groups > 1 || !impl.Picked(g.Stride) || l.readInBlocks(n.Out[0], map[*graph.Value]bool{}) {
		return false
	}
	whole := g.PerGroup%l.lanes == 0
	if whole && (l.asks(n) || l.Target.ISA().LoadsFirst || l.computed(n.In[1]) || types.Count(w.Shape[2:]) > 1 || slices.Max(a.Strides) > 1 || slices.Max(a.Padding) > 0 || x.Layout != "" || !l.staysPlain(n.Out[0], map[*graph.Value]bool{})) {
		return false
	}
	g.Window = w.Shape[len(w.Shape)-1]
	switch {
	case x.Layout != "":
		g.MovedPixels = x.Bytes() + g.Result
	case x.Shape[1]%l.lanes > 0:
		g.MovedChannels = g.Result
	case whole:
		g.MovedChannels = l.arranged(n.In[0]) + g.Result
	default:
		g.MovedChannels = x.Bytes() + g.Result
	}
	return !l.decideLanes(n, g, l.lanes)
}

// staysPlain reports whether v, or what is computed of it element by element, is a result of the network, and nothing else reads it.
func (l *layouts) staysPlain(v *graph.Value, seen map[*graph.Value]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	users := l.Users(v)
	return (l.IsOutput(v) || len(users) > 0) && !slices.ContainsFunc(users, func(n *graph.Node) bool {
		return n.Op != ops.Reshape && n.Op.Fusion != op.Elementwise && n.Op.Fusion != op.Broadcast || !l.staysPlain(n.Out[0], seen)
	})
}

// readInBlocks reports whether a depthwise convolution or a pooling reads v, or what is computed of it element by element: it takes blocks,
// and may be computed with the convolution before it in one kernel.
func (l *layouts) readInBlocks(v *graph.Value, seen map[*graph.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	return slices.ContainsFunc(l.Users(v), func(n *graph.Node) bool {
		if n.Impl.Name == impl.Depthwise || n.Op == ops.MaxPool2d {
			return n.In[0] == v
		}
		follows := n.Op.Fusion >= op.Elementwise && n.Op.Fusion <= op.Broadcast && len(n.Out) == 1 && slices.Equal(n.Out[0].Type.Shape, v.Type.Shape)
		return follows && l.readInBlocks(n.Out[0], seen)
	})
}
