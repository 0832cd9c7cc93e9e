// Package winograd computes convolutions by Winograd's minimal filtering; those with strides as sums of ones without, over the phases of the data.
package winograd

import (
	"slices"

	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/impl"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// Name is that of the implementation.
const Name = "winograd"

// Algorithm offers itself for convolutions, and makes the kernels of the operators that Rewrite writes.
var Algorithm = impl.Algorithm{
	Ways:    ways,
	Externs: map[*op.Def]impl.Extern{ops.WinogradInput: {Build: input, Blocked: true}},
	Anchors: map[*op.Def]func(impl.Anchor) (*impl.Plan, error){
		ops.WinogradProduct: product, ops.WinogradConv: conv,
	},
	Layouts: map[*op.Def]func(impl.Layouts, int, *graph.Node){
		ops.WinogradInput: inputLayouts, ops.WinogradProduct: productLayouts, ops.WinogradConv: convLayouts,
	},
	NodeDecisions: []impl.DecisionInfo{
		{Name: "algorithm", Owner: "ChooseImplementations", Doc: "how a convolution is computed: `direct`, or by Winograd's algorithm `F(6x6)` to `F(2x2)`, with so many outputs of a tile along each axis of several taps, all of it or `by blocks`; a product of bytes `direct`, by dot products, or by registers of matrices, `matrix`"},
		{Name: tileDecision, Owner: "ChooseImplementations", Doc: "accumulators of the products in the Winograd domain: rows of tiles x vectors"},
	},
	Decisions: []impl.DecisionInfo{
		{Name: "block", Owner: "winograd", Doc: "groups of tiles that are transformed or multiplied at a time", Prefer: "as many as fit L2 and keep workers evenly busy"},
		{Name: "fetch", Owner: "winograd", Doc: "factors ahead of which a product asks for weights; 0: it does not", Prefer: "4"},
		{Name: "fetch_data", Owner: "winograd", Doc: "blocks of channels ahead of which a product asks for data; 0: it does not", Prefer: "1 where L2 does not hold the data"},
	},
}

// tileDecision is the name of the decision on the register tile of the products.
const tileDecision = "winograd_tile"

// Rewrite writes convolutions for which it was chosen as products in the Winograd domain, with weights transformed here, by so many
// goroutines.
//
//	nn.conv2d(x, w, b)   becomes   add(winograd_product(winograd_input_transform(x), w'), b)
//
// Convolutions of int16 by int8 keep every bit.
func Rewrite(g *graph.Graph, workers int) error {
	return rewrite.Walk(g, func(r *rewrite.Rewriter, n *graph.Node) {
		switch {
		case n.Impl.Name != Name:
		case n.Op == ops.Conv2d || n.Op == ops.Conv1d:
			r.Replace(n.Out[0], nodes(r, n, n.In[1], variantOf(n.Impl.Point), workers))
		case n.Op == ops.QnnConv2d:
			r.Replace(n.Out[0], nodes(r, n, n.In[2], variantOf(n.Impl.Point), workers))
		}
	})
}

// nodes adds the operators of the Winograd domain that compute convolution n by weights w.
func nodes(r *rewrite.Rewriter, n *graph.Node, w *graph.Value, c variant, workers int) *graph.Value {
	input, shape := inputAttrs(n.Attrs.(ops.ConvAttrs), w.Type.Shape[2:]), n.Out[0].Type.Shape
	input.TileSize = c.Tile
	weight, err := transformedWeight(w, input, workers)
	if err != nil {
		r.Fail(err)
		return n.Out[0]
	}
	var y *graph.Value
	if c.Fused {
		y = r.Apply(ops.WinogradConv, input, n.In[0], weight)
	} else {
		product := ops.WinogradProductAttrs{TileSize: c.Tile, KernelSize: input.KernelSize, Strides: input.Strides, Dilation: input.Dilation, Width: shape[len(shape)-1]}
		if len(shape) == 4 {
			product.Height = shape[2]
		}
		y = r.Apply(ops.WinogradProduct, product, r.Apply(ops.WinogradInput, input, n.In[0]), weight)
	}
	y.Def.Why, y.Def.Impl = n.Why, n.Impl
	if n.Op != ops.QnnConv2d && len(n.In) == 3 {
		bias := graph.NewConst(n.In[2].Name, n.In[2].Const.Reshape(slices.Concat([]int{shape[1]}, slices.Repeat([]int{1}, len(shape)-2))...))
		y = r.Apply(ops.Add, op.None{}, y, bias)
	}
	return y
}
