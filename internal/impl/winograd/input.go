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
	w, err := a.Matrices()
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
	tiles := func(k int) int {
		x := &w.Axes[k]
		return x.Tiles(shape[2+k] + a.Padding[k] + a.Padding[2+k] - (x.Taps-1)*x.Dilation)
	}
	return inputTransform{tileGrid{w, shape[0], tiles(0), tiles(1)}, data, to, a.Padding[0], a.Padding[1]}
}

// column transforms a tile, in all channels, to a row of a group of the result. Rows behind the last tile become 0.
func (t inputTransform) column(tile, group, row expr.Expr) loop.Stmt {
	blocks := func(body func(block expr.Expr) loop.Stmt) loop.Stmt {
		return build.Each("block", expr.Index(t.to.blocks), body)
	}
	one := t.place(tile, func(image, y, x expr.Expr) loop.Stmt {
		top, left := expr.Sub(y, expr.Index(t.top)), expr.Sub(x, expr.Index(t.left))
		all := func(guard bool) loop.Stmt {
			return blocks(func(block expr.Expr) loop.Stmt { return t.tile(image, block, top, left, group, row, guard) })
		}
		rows, cols := t.Axes[0].Alpha, t.Axes[1].Alpha
		inside := expr.AllOf(t.within(top, 0, t.down, 0), t.within(top, rows-1, t.down, 0), t.within(left, 0, t.across, 1), t.within(left, cols-1, t.across, 1))
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

// within is the condition that element i of a tile, the first of which is at first, lies within an axis of the data; nil where it does for
// all of the axis' tiles.
func (t inputTransform) within(first expr.Expr, i, tiles, axis int) expr.Expr {
	w, pad := &t.Axes[axis], []int{t.top, t.left}[axis]
	i *= w.Dilation
	at, n := expr.Add(first, expr.Index(i)), t.data.Shape[2+axis]
	var low, high expr.Expr
	if i < pad {
		low = expr.GE(at, expr.Index(0))
	}
	if w.First(tiles-1)+i-pad >= n {
		high = expr.LT(at, expr.Index(n))
	}
	return expr.AllOf(low, high)
}

// tile transforms one tile: columns, then rows. guard tests each element.
func (t inputTransform) tile(image, block, top, left, group, row expr.Expr, guard bool) loop.Stmt {
	p := newLaneProgram(t.data.DType, t.to.lanes)
	rows, cols := &t.Axes[0], &t.Axes[1]
	half := make([][]expr.Expr, rows.Alpha)
	for j := range cols.Alpha {
		d := make([]expr.Expr, rows.Alpha)
		for i := range d {
			var cond expr.Expr
			if guard {
				cond = expr.AllOf(t.within(top, i, t.down, 0), t.within(left, j, t.across, 1))
			}
			e := build.Get(t.data, image, block, expr.Add(top, expr.Index(i*rows.Dilation)), expr.Add(left, expr.Index(j*cols.Dilation)), p.lane)
			d[i] = p.keep(expr.If(cond, e, expr.Const(t.data.DType, 0)))
		}
		for i, v := range p.multiply(rows.BT, d) {
			half[i] = append(half[i], v)
		}
	}
	for i := range half {
		for j, v := range p.multiply(cols.BT, half[i]) {
			p.store(t.to.Buffer, v, t.to.at(group, expr.Index(i*cols.Alpha+j), block, row, p.lane)...)
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
