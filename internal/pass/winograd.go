package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// winograd rewrites 3x3 convolutions with strides 1 as products in the Winograd domain, with weights transformed here,
// where the estimate of package impl says that this takes less time.
//
//	nn.conv2d(x, w, b)   becomes   add(winograd_product(winograd_input_transform(x), w'), b)
func winograd(c *Context) error {
	if len(c.Layouts) > 0 {
		return nil // the kernels need channels in vectors
	}
	if c.Target.Downloaded() {
		return nil // transformed weights are up to four times as many bytes
	}
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		conv, ok := winogradConv(n)
		if !ok {
			return
		}
		choice := conv.Choose(c.Target)
		if n.Why = choice.Why; choice.Tile > 0 {
			r.Replace(n.Out[0], winogradNodes(r, n, choice))
		}
	})
}

// winogradConv describes a convolution that may be computed so.
func winogradConv(n *graph.Node) (c impl.WinogradConv, ok bool) {
	if n.Op != ops.Conv2d || !n.In[1].IsConst() || len(n.In) == 3 && !n.In[2].IsConst() {
		return c, false
	}
	a, x, w, y := n.Attrs.(ops.ConvAttrs), n.In[0].Type, n.In[1].Type, n.Out[0].Type
	all := func(v []int, want int) bool { return v[0] == want && v[1] == want }
	if a.Groups != 1 || !all(a.Strides, 1) || !all(a.Dilation, 1) || !all(w.Shape[2:], 3) || y.DType != types.F32 {
		return c, false
	}
	return impl.WinogradConv{Images: x.Shape[0], In: x.Shape[1], Out: y.Shape[1], Height: y.Shape[2], Width: y.Shape[3]}, true
}

// winogradNodes adds the operators of the Winograd domain that compute convolution n.
func winogradNodes(r *rewrite.Rewriter, n *graph.Node, c impl.WinogradChoice) *graph.Value {
	a, shape := n.Attrs.(ops.ConvAttrs), n.Out[0].Type.Shape
	weight, err := winogradWeight(n.In[1], c.Tile)
	if err != nil {
		r.Fail(err)
		return n.Out[0]
	}
	input := ops.WinogradInputAttrs{TileSize: c.Tile, Padding: a.Padding}
	var y *graph.Value
	if c.Fused {
		y = r.Apply(ops.WinogradConv, input, n.In[0], weight)
	} else {
		product := ops.WinogradProductAttrs{TileSize: c.Tile, Height: shape[2], Width: shape[3]}
		y = r.Apply(ops.WinogradProduct, product, r.Apply(ops.WinogradInput, input, n.In[0]), weight)
	}
	y.Def.Why = c.Why
	if len(n.In) == 3 {
		bias := graph.NewConst(n.In[2].Name, n.In[2].Const.Reshape(shape[1], 1, 1))
		y = r.Apply(ops.Add, op.None{}, y, bias)
	}
	return y
}

// winogradInput gives data channels in blocks of a vector and its tiles in groups of the rows of a register tile.
func (l *layouts) winogradInput(n *graph.Node) {
	l.want(n, 0, types.ChannelBlocks(4, l.lanes))
	for _, u := range l.Users(n.Out[0]) {
		if u.Op != ops.WinogradProduct {
			continue
		}
		rows := l.winogradTile(n.Out[0].Type.Shape[2], u.In[1].Type).Rows
		l.SetLayout(n.Out[0], impl.WinogradDataLayout(rows, l.lanes))
	}
}

// winogradProduct packs the weights into panels of the register tile's vectors.
func (l *layouts) winogradProduct(n *graph.Node) {
	l.winogradOutput(n, n.In[0].Type.Shape[2])
}

// winogradConv is winogradInput and winogradProduct in one.
func (l *layouts) winogradConv(n *graph.Node) {
	l.want(n, 0, types.ChannelBlocks(4, l.lanes))
	y := n.Out[0].Type.Shape
	w, err := ops.WinogradOf(n.Attrs.(ops.WinogradInputAttrs).TileSize)
	if err != nil {
		panic(err) // inference has accepted it
	}
	l.winogradOutput(n, y[0]*w.Tiles(y[2])*w.Tiles(y[3]))
}

func (l *layouts) winogradOutput(n *graph.Node, tiles int) {
	l.want(n, 1, impl.WinogradWeightLayout(l.winogradTile(tiles, n.In[1].Type).Vecs*l.lanes))
	l.SetLayout(n.Out[0], types.ChannelBlocks(4, l.lanes))
}

func (l *layouts) winogradTile(tiles int, weight types.Tensor) impl.Tile {
	return impl.WinogradTile(l.Target, tiles, (weight.Shape[1]+l.lanes-1)/l.lanes)
}
