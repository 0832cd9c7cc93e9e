package winograd

import (
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// input transforms tiles of data whose channels lie in vectors. Tiles inside the data are read without a test; the
// tests of others repeat for every vector of channels, so that their branches are predicted.
func input(c impl.Call) (*impl.Plan, error) {
	a := c.Attrs.(ops.WinogradInputAttrs)
	w, err := ops.WinogradOf(a.TileSize)
	if err != nil {
		return nil, err
	}
	x, y := build.Param("data", c.In[0].DType, c.In[0].Dims()...), build.Param("y", c.Out[0].DType, c.Out[0].Dims()...)
	d, ok := tiledDataOf(y, c.Out[0])
	if !ok || c.In[0].Layout != types.ChannelBlocks(4, d.lanes) {
		return nil, nil
	}
	t := newInputTransform(w, a, x, c.In[0].Shape, d)
	body := impl.Divided("tile", d.groups*d.rows, func(tile expr.Expr) loop.Stmt {
		return t.column(tile, expr.Bin(expr.OpFloorDiv, tile, expr.Index(d.rows)), expr.Bin(expr.OpFloorMod, tile, expr.Index(d.rows)))
	})
	return c.Plan(&loop.Func{Name: "winograd_input", Params: []*loop.Buffer{x, y}, Body: body}, 8*float64(c.Out[0].Elements())), nil
}

// inputTransform writes transformed tiles of data.
type inputTransform struct {
	tileGrid
	data      *loop.Buffer // [N, C/lanes, H, W, lanes]
	to        tiledData
	top, left int // padding
}

func newInputTransform(w *ops.Winograd, a ops.WinogradInputAttrs, data *loop.Buffer, shape []int, to tiledData) inputTransform {
	tiles := func(axis int) int { return w.Tiles(shape[2+axis] + a.Padding[axis] + a.Padding[2+axis] - 2) }
	return inputTransform{tileGrid{w, shape[0], tiles(0), tiles(1)}, data, to, a.Padding[0], a.Padding[1]}
}

// column transforms a tile, in all channels, to a row of a group of the result. Rows behind the last tile become 0.
func (t inputTransform) column(tile, group, row expr.Expr) loop.Stmt {
	blocks := func(body func(block expr.Expr) loop.Stmt) loop.Stmt {
		return build.Each("block", expr.Index(t.to.blocks), body)
	}
	one := t.place(tile, func(image, ty, tx expr.Expr) loop.Stmt {
		top := expr.Sub(expr.Mul(ty, expr.Index(t.Tile)), expr.Index(t.top))
		left := expr.Sub(expr.Mul(tx, expr.Index(t.Tile)), expr.Index(t.left))
		all := func(guard bool) loop.Stmt {
			return blocks(func(block expr.Expr) loop.Stmt { return t.tile(image, block, top, left, group, row, guard) })
		}
		inside := expr.AllOf(t.within(top, 0, t.down, 2), t.within(top, t.Alpha-1, t.down, 2), t.within(left, 0, t.across, 3), t.within(left, t.Alpha-1, t.across, 3))
		if inside == nil {
			return all(false)
		}
		return &loop.If{Cond: inside, Then: all(false), Else: all(true)}
	})
	if t.tiles() == t.to.groups*t.to.rows {
		return one
	}
	zeros := blocks(func(block expr.Expr) loop.Stmt { return t.zeros(group, block, row) })
	return &loop.If{Cond: expr.LT(tile, expr.Index(t.tiles())), Then: one, Else: zeros}
}

// within is the condition that position first+i of a tile lies within the given axis of the data; nil where it does for
// all of the axis' tiles.
func (t inputTransform) within(first expr.Expr, i, tiles, axis int) expr.Expr {
	pad := t.top
	if axis == 3 {
		pad = t.left
	}
	at, n := expr.Add(first, expr.Index(i)), t.data.Shape[axis]
	var low, high expr.Expr
	if i < pad {
		low = expr.GE(at, expr.Index(0))
	}
	if (tiles-1)*t.Tile+i-pad >= n {
		high = expr.LT(at, expr.Index(n))
	}
	return expr.AllOf(low, high)
}

// tile transforms one tile: columns, then rows. guard tests each element.
func (t inputTransform) tile(image, block, top, left, group, row expr.Expr, guard bool) loop.Stmt {
	p := newLaneProgram(t.data.DType, t.to.lanes)
	half := make([][]expr.Expr, t.Alpha)
	for j := range t.Alpha {
		d := make([]expr.Expr, t.Alpha)
		for i := range d {
			var cond expr.Expr
			if guard {
				cond = expr.AllOf(t.within(top, i, t.down, 2), t.within(left, j, t.across, 3))
			}
			e := build.Get(t.data, image, block, expr.Add(top, expr.Index(i)), expr.Add(left, expr.Index(j)), p.lane)
			d[i] = p.keep(expr.If(cond, e, expr.Const(t.data.DType, 0)))
		}
		for i, v := range p.multiply(t.BT, d) {
			half[i] = append(half[i], v)
		}
	}
	for i := range half {
		for j, v := range p.multiply(t.BT, half[i]) {
			p.store(t.to.Buffer, v, t.to.at(group, expr.Index(i*t.Alpha+j), block, row, p.lane)...)
		}
	}
	return p.loop()
}

func (t inputTransform) zeros(group, block, row expr.Expr) loop.Stmt {
	p := newLaneProgram(t.data.DType, t.to.lanes)
	for k := range t.Products() {
		p.store(t.to.Buffer, expr.Const(t.data.DType, 0), t.to.at(group, expr.Index(k), block, row, p.lane)...)
	}
	return p.loop()
}
