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
	if !ok || c.In[0].Layout != types.ChannelBlocks(c.In[0].Rank(), d.lanes) {
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
	padding []int
	data    *loop.Buffer // [N, C/lanes, H, W, lanes], or without H
	size    [2]int       // H and W
	blocks  int          // C/lanes
	to      tiledData
}

func newInputTransform(w *ops.Winograd, a ops.WinogradInputAttrs, data *loop.Buffer, shape []int, to tiledData) inputTransform {
	lines := ops.Lines(shape)
	t := inputTransform{padding: a.Padding, data: data, size: [2]int{lines[2], lines[3]}, blocks: data.Shape[1], to: to}
	tiles := func(k int) int {
		x := &w.Axes[k]
		return x.Tiles((t.size[k]+a.Padding[k]+a.Padding[2+k]-(a.KernelSize[k]-1)*x.Dilation-1)/x.Stride + 1)
	}
	t.tileGrid = tileGrid{w, shape[0], tiles(0), tiles(1)}
	return t
}

// column transforms a tile, in all channels, to a row of a group of the result. Rows behind the last tile become 0.
func (t inputTransform) column(tile, group, row expr.Expr) loop.Stmt {
	one := t.place(tile, func(image, y, x expr.Expr) loop.Stmt {
		var all []loop.Stmt
		for i := range t.Axes[0].Phases {
			for j := range t.Axes[1].Phases {
				all = append(all, t.phase(phase{i*t.Axes[1].Phases + j, [2]int{i, j}}, image, y, x, group, row))
			}
		}
		return build.Do(all...)
	})
	if t.tiles() == t.to.groups*t.to.rows {
		return one
	}
	zeros := build.Each("block", expr.Index(t.to.blocks), func(block expr.Expr) loop.Stmt { return t.zeros(group, block, row) })
	return &loop.If{Cond: expr.LT(tile, expr.Index(t.tiles())), Then: one, Else: zeros}
}

// A phase is every element of the data, along each axis, that follows one of the first ones at multiples of the strides.
type phase struct {
	index int
	first [2]int
}

// phase transforms what a tile with its first output at y and x reads of a phase.
func (t inputTransform) phase(p phase, image, y, x, group, row expr.Expr) loop.Stmt {
	at := func(out expr.Expr, axis int) expr.Expr {
		return expr.Add(expr.Mul(out, expr.Index(t.Axes[axis].Stride)), expr.Index(p.first[axis]-t.padding[axis]))
	}
	top, left := at(y, 0), at(x, 1)
	all := func(guard bool) loop.Stmt {
		return build.Each("block", expr.Index(t.blocks), func(block expr.Expr) loop.Stmt {
			return t.tile(p, image, block, top, left, group, row, guard)
		})
	}
	rows, cols := t.Axes[0].Alpha, t.Axes[1].Alpha
	inside := expr.AllOf(t.within(p, top, 0, 0), t.within(p, top, rows-1, 0), t.within(p, left, 0, 1), t.within(p, left, cols-1, 1))
	if inside == nil {
		return all(false)
	}
	return &loop.If{Cond: inside, Then: all(false), Else: all(true)}
}

// step is the distance of the elements of a tile along an axis.
func (t inputTransform) step(axis int) int { return t.Axes[axis].Stride * t.Axes[axis].Dilation }

// within is the condition that element i of a phase's tile, the first of which is at first, lies within an axis of the data; nil where it
// does for all of the axis' tiles.
func (t inputTransform) within(p phase, first expr.Expr, i, axis int) expr.Expr {
	i *= t.step(axis)
	at, n := expr.Add(first, expr.Index(i)), t.size[axis]
	least := p.first[axis] + i - t.padding[axis]
	tiles := []int{t.down, t.across}[axis]
	var low, high expr.Expr
	if least < 0 {
		low = expr.GE(at, expr.Index(0))
	}
	if t.Axes[axis].First(tiles-1)*t.Axes[axis].Stride+least >= n {
		high = expr.LT(at, expr.Index(n))
	}
	return expr.AllOf(low, high)
}

// tile transforms one tile of a phase: columns, then rows. guard tests each element.
func (t inputTransform) tile(of phase, image, block, top, left, group, row expr.Expr, guard bool) loop.Stmt {
	p := newLaneProgram(t.data.DType, t.to.lanes)
	to := expr.Add(block, expr.Index(of.index*t.blocks))
	rows, cols := &t.Axes[0], &t.Axes[1]
	half := make([][]expr.Expr, rows.Alpha)
	for j := range cols.Alpha {
		d := make([]expr.Expr, rows.Alpha)
		for i := range d {
			var cond expr.Expr
			if guard {
				cond = expr.AllOf(t.within(of, top, i, 0), t.within(of, left, j, 1))
			}
			from := ops.OnLine(len(t.data.Shape)-1, image, block, expr.Add(top, expr.Index(i*t.step(0))), expr.Add(left, expr.Index(j*t.step(1))))
			e := build.Get(t.data, append(from, p.lane)...)
			d[i] = p.keep(expr.If(cond, e, expr.Const(t.data.DType, 0)))
		}
		for i, v := range p.multiply(rows.BT, d) {
			half[i] = append(half[i], v)
		}
	}
	for i := range half {
		for j, v := range p.multiply(cols.BT, half[i]) {
			p.store(t.to.Buffer, v, t.to.at(group, expr.Index(i*cols.Alpha+j), to, row, p.lane)...)
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
