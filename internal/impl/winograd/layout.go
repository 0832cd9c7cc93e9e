package winograd

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/graph"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// The kernels of a Winograd convolution work on tiles in groups, the rows of a register tile, and on channels in vectors, those of each
// phase together:
//
//	data     [k, C, tiles] lies as [tiles/rows][C/lanes][k][rows][lanes]
//	weights  [k, O, C]     lie as  [O/panel][k][C][panel], panel being a few vectors
//
// Of int16, two channels of a column lie together, whose products one instruction adds: [O/panel][k][C/2][panel][2]. Data are
// [tiles/rows][k][C/lanes][rows][lanes] then: a row is half a cache line or less, and what a factor reads is in order.
//
// The product of a group, a factor k and a panel reads the weights, which may come from memory, in order. The factors of
// a tile, which are written together, are the rows of a group apart: farther apart, at a distance that is a power of two
// as a rule, they would fall into the same set of a cache.

// dataLayout is the layout of transformed data of a type.
func dataLayout(t types.DType, rows, lanes int) types.Layout {
	layout := "CBA"
	if factorsOutside(t) {
		layout = "CAB"
	}
	if rows > 1 {
		layout += fmt.Sprintf("%dc", rows)
	}
	return types.Layout(layout + fmt.Sprintf("%db", lanes))
}

// factorsOutside reports whether the channels of a factor lie together, and not the factors of a vector of channels.
func factorsOutside(t types.DType) bool { return t.IsInt() }

// weightLayout is the layout of transformed weights of a type.
func weightLayout(t types.DType, panel int) types.Layout {
	layout := fmt.Sprintf("BAC%db", panel)
	if n := together(t); n > 1 {
		layout += fmt.Sprintf("%dc", n)
	}
	return types.Layout(layout)
}

// together is the number of channels of transformed operands of a type whose products are added at once.
func together(t types.DType) int { return max(1, impl.DotWidthOf(t, t)) }

// inputLayouts gives data channels in blocks of a vector and its tiles in groups of the rows of a register tile.
func inputLayouts(l impl.Layouts, lanes int, n *graph.Node) {
	l.Want(n, 0, types.ChannelBlocks(n.In[0].Type.Rank(), lanes))
	for _, u := range l.Users(n.Out[0]) {
		if u.Op != ops.WinogradProduct {
			continue
		}
		if t, ok := impl.TileOf(u.Impl.Point, tileDecision); ok {
			l.SetLayout(n.Out[0], dataLayout(n.Out[0].Type.DType, t.Rows, lanes))
		}
	}
}

// productLayouts packs the weights into panels of the register tile's vectors.
func productLayouts(l impl.Layouts, lanes int, n *graph.Node) {
	if t, ok := impl.TileOf(n.Impl.Point, tileDecision); ok {
		l.Want(n, 1, weightLayout(n.In[1].Type.DType, t.Vecs*lanes))
		l.SetLayout(n.Out[0], types.ChannelBlocks(n.Out[0].Type.Rank(), lanes))
	}
}

// convLayouts is inputLayouts and productLayouts in one.
func convLayouts(l impl.Layouts, lanes int, n *graph.Node) {
	l.Want(n, 0, types.ChannelBlocks(n.In[0].Type.Rank(), lanes))
	productLayouts(l, lanes, n)
}

// tileGrid is how the tiles of a Winograd convolution cover its outputs.
type tileGrid struct {
	*ops.Winograd
	images, down, across int // tiles of an image along both axes
}

func (g tileGrid) tiles() int { return g.images * g.down * g.across }

// place binds the image, the row and the column of the first output of a tile.
func (g tileGrid) place(tile expr.Expr, body func(image, row, col expr.Expr) loop.Stmt) loop.Stmt {
	div := func(a expr.Expr, n int) expr.Expr { return expr.Bin(expr.OpFloorDiv, a, expr.Index(n)) }
	mod := func(a expr.Expr, n int) expr.Expr { return expr.Bin(expr.OpFloorMod, a, expr.Index(n)) }
	line := div(tile, g.across)
	return build.Bind("y", g.Axes[0].FirstOf(mod(line, g.down)), func(row expr.Expr) loop.Stmt {
		return build.Bind("x", g.Axes[1].FirstOf(mod(tile, g.across)), func(col expr.Expr) loop.Stmt {
			if g.images == 1 {
				return body(expr.Index(0), row, col)
			}
			return build.Bind("image", div(line, g.down), func(image expr.Expr) loop.Stmt { return body(image, row, col) })
		})
	})
}

// A tiledData is a buffer of transformed data.
type tiledData struct {
	*loop.Buffer
	groups, factors, blocks, rows, lanes int
}

// tiledDataOf views a buffer of type t; ok is false when it does not lie as dataLayout has it, in whole vectors.
func tiledDataOf(b *loop.Buffer, t types.Tensor) (d tiledData, ok bool) {
	rows, lanes := max(1, t.Layout.BlockOf(2, 3)), t.Layout.BlockOf(1, 3)
	if lanes == 0 || t.Layout != dataLayout(t.DType, rows, lanes) || t.Shape[1]%lanes != 0 {
		return d, false
	}
	dims := t.Dims()
	if factorsOutside(t.DType) {
		dims[1], dims[2] = dims[2], dims[1]
	}
	return tiledData{b, dims[0], dims[2], dims[1], rows, lanes}, true
}

// at is the index of an element.
func (d tiledData) at(group, factor, block, row, lane expr.Expr) []expr.Expr {
	if factorsOutside(d.DType) {
		block, factor = factor, block
	}
	if d.rows == 1 {
		return []expr.Expr{group, block, factor, lane}
	}
	return []expr.Expr{group, block, factor, row, lane}
}
