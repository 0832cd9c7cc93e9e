package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// winograd rewrites convolutions for which it was chosen as products in the Winograd domain, with weights transformed here.
//
//	nn.conv2d(x, w, b)   becomes   add(winograd_product(winograd_input_transform(x), w'), b)
func winograd(c *Context) error {
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		if n.Op == ops.Conv2d && n.Impl.Name == impl.Winograd {
			r.Replace(n.Out[0], winogradNodes(r, n, impl.WinogradOf(n.Impl.Point)))
		}
	})
}

// winogradNodes adds the operators of the Winograd domain that compute convolution n.
func winogradNodes(r *rewrite.Rewriter, n *graph.Node, c impl.WinogradAlgorithm) *graph.Value {
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
	y.Def.Why, y.Def.Impl = n.Why, n.Impl
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
		if t, ok := impl.WinogradTileOf(u.Impl.Point); ok {
			l.SetLayout(n.Out[0], impl.WinogradDataLayout(t.Rows, l.lanes))
		}
	}
}

// winogradProduct packs the weights into panels of the register tile's vectors.
func (l *layouts) winogradProduct(n *graph.Node) {
	if t, ok := impl.WinogradTileOf(n.Impl.Point); ok {
		l.want(n, 1, impl.WinogradWeightLayout(t.Vecs*l.lanes))
		l.SetLayout(n.Out[0], types.ChannelBlocks(4, l.lanes))
	}
}

// winogradConv is winogradInput and winogradProduct in one.
func (l *layouts) winogradConv(n *graph.Node) {
	l.want(n, 0, types.ChannelBlocks(4, l.lanes))
	l.winogradProduct(n)
}
