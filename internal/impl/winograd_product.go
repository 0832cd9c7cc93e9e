package impl

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// winogradProduct multiplies transformed data and weights. A piece of work is a panel of output channels and a block of
// groups of tiles: its products go to scratch, factor by factor, then each tile is transformed back, and the rest of the
// group of operators computed on its outputs before they are stored.
//
//	parallel (panels, blocks of groups) {
//	  for k, group { accumulators = 0; for channels { accumulators += data × weights }; products[k] = accumulators }
//	  for tile { y = rest(Aᵀ products A) }
//	}
func winogradProduct(a Anchor) (*loop.Func, string, bool, error) {
	attrs := a.Attrs.(ops.WinogradProductAttrs)
	w, err := ops.WinogradOf(attrs.TileSize)
	if err != nil {
		return nil, "", false, err
	}
	v, u := a.In[0], a.In[1]
	data, weight := param("data", types.F32, v.Dims()...), param("weight", types.F32, u.Dims()...)
	d, ok := tiledDataOf(data, v)
	panel := u.Layout.BlockOf(1, 3)
	if !ok || panel == 0 || panel%d.lanes != 0 || u.Shape[1]%panel != 0 || u.Layout != WinogradWeightLayout(panel) {
		return nil, "", false, nil
	}
	if a.Out.Layout != types.Layout(channelBlocks4(d.lanes)) {
		return nil, "", false, nil
	}
	p := product{
		tileGrid: tileGrid{w, a.Out.Shape[0], w.Tiles(attrs.Height), w.Tiles(attrs.Width)},
		Anchor:   a, data: d, weight: weight, vecs: panel / d.lanes, height: attrs.Height, width: attrs.Width,
	}
	panels := weight.Shape[0]
	p.block = p.groupsPerBlock()
	blocks := (d.groups + p.block - 1) / p.block
	p.sums = scratch("products", types.F32, w.Products(), p.block, d.rows, panel)
	work := 2 * float64(w.Products()) * float64(v.Shape[2]*v.Shape[1]*u.Shape[1])
	body := divided("part", panels*blocks, work, func(part expr.Expr) loop.Stmt {
		return bind("panel", expr.Bin(expr.OpFloorDiv, part, num(blocks)), func(o expr.Expr) loop.Stmt {
			return bind("first", expr.Mul(expr.Bin(expr.OpFloorMod, part, num(blocks)), num(p.block)), func(first expr.Expr) loop.Stmt {
				return with(do(p.multiply(o, first), p.back(o, first)), p.sums)
			})
		})
	})
	why := fmt.Sprintf("F(%dx%d, 3x3), %d x %d accumulators of %d lanes, blocks of %d tiles", w.Tile, w.Tile, d.rows, p.vecs, d.lanes, p.block*d.rows)
	return a.function(body, data, weight), why, true, nil
}

type product struct {
	tileGrid
	Anchor
	data          tiledData
	weight        *loop.Buffer // [O/panel, k, C, panel]
	vecs          int          // vectors of a panel
	block         int          // groups of a piece of work
	sums          *loop.Buffer // [k, group, row, panel]
	height, width int
}

// groupsPerBlock is how many groups a piece of work has: as many as leave the products of a panel half of the second
// level cache, divided evenly.
func (p product) groupsPerBlock() int {
	group := 4 * p.Products() * p.data.rows * p.vecs * p.data.lanes
	most := max(1, p.CPU.L2/2/group)
	blocks := (p.data.groups + most - 1) / most
	return (p.data.groups + blocks - 1) / blocks
}

// groups is a loop over the groups of the block that starts at first; the last block may have fewer.
func (p product) groups(first expr.Expr, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	n := expr.Expr(num(p.block))
	if p.data.groups%p.block != 0 {
		n = expr.Min(n, expr.Sub(num(p.data.groups), first))
	}
	return each("g", n, body)
}

// multiply makes the products of panel o and the block of groups from first on.
func (p product) multiply(o, first expr.Expr) loop.Stmt {
	return each("k", num(p.Products()), func(k expr.Expr) loop.Stmt {
		return p.groups(first, func(i expr.Expr) loop.Stmt { return p.group(o, k, expr.Add(first, i), i) })
	})
}

// reductionUnroll is the number of channels that are multiplied between two tests of the loop.
const reductionUnroll = 4

// group sums the products of a group over channels, in registers.
func (p product) group(o, k, group, i expr.Expr) loop.Stmt {
	lanes := p.data.lanes
	acc := &loop.Buffer{Name: "acc", DType: types.F32, Shape: []int{p.data.rows, p.vecs, lanes}, Scope: loop.Reg}
	tile := func(body func(row, vec, lane expr.Expr) loop.Stmt) loop.Stmt {
		return loopOver(loop.Unrolled, "row", num(0), num(p.data.rows), func(row expr.Expr) loop.Stmt {
			return loopOver(loop.Unrolled, "vec", num(0), num(p.vecs), func(vec expr.Expr) loop.Stmt {
				return loopOver(loop.Vector, "lane", num(0), num(lanes), func(lane expr.Expr) loop.Stmt { return body(row, vec, lane) })
			})
		})
	}
	column := func(vec, lane expr.Expr) expr.Expr { return expr.Add(expr.Mul(vec, num(lanes)), lane) }
	step := func(block, c expr.Expr) loop.Stmt {
		channel := expr.Add(expr.Mul(block, num(lanes)), c)
		return tile(func(row, vec, lane expr.Expr) loop.Stmt {
			x := get(p.data.Buffer, p.data.at(group, k, block, row, c)...)
			return set(acc, expr.Add(get(acc, row, vec, lane), expr.Mul(x, get(p.weight, o, k, channel, column(vec, lane)))), row, vec, lane)
		})
	}
	unroll := min(reductionUnroll, lanes)
	return with(do(
		tile(func(row, vec, lane expr.Expr) loop.Stmt { return set(acc, expr.Const(types.F32, 0), row, vec, lane) }),
		each("block", num(p.data.blocks), func(block expr.Expr) loop.Stmt {
			return each("c", num(lanes/unroll), func(c expr.Expr) loop.Stmt {
				return loopOver(loop.Unrolled, "ci", num(0), num(unroll), func(ci expr.Expr) loop.Stmt {
					return step(block, expr.Add(expr.Mul(c, num(unroll)), ci))
				})
			})
		}),
		tile(func(row, vec, lane expr.Expr) loop.Stmt {
			return set(p.sums, get(acc, row, vec, lane), k, i, row, column(vec, lane))
		}),
	), acc)
}

// back transforms the tiles of a block to outputs.
func (p product) back(o, first expr.Expr) loop.Stmt {
	return p.groups(first, func(i expr.Expr) loop.Stmt {
		return each("row", num(p.data.rows), func(row expr.Expr) loop.Stmt {
			tile := expr.Add(expr.Mul(expr.Add(first, i), num(p.data.rows)), row)
			one := p.place(tile, func(image, ty, tx expr.Expr) loop.Stmt {
				return each("vec", num(p.vecs), func(vec expr.Expr) loop.Stmt { return p.outputs(o, vec, i, row, image, ty, tx) })
			})
			if p.tiles() == p.data.groups*p.data.rows {
				return one
			}
			return when(expr.LT(tile, num(p.tiles())), one)
		})
	})
}

// outputs transforms the products of one tile and one vector of channels back and stores what lies within the result.
func (p product) outputs(o, vec, i, row, image, ty, tx expr.Expr) loop.Stmt {
	c := newLaneProgram(p.data.lanes)
	half := make([][]expr.Expr, p.Tile)
	for k := range p.Alpha {
		m := make([]expr.Expr, p.Alpha)
		for l := range m {
			m[l] = c.keep(get(p.sums, num(l*p.Alpha+k), i, row, expr.Add(expr.Mul(vec, num(p.data.lanes)), c.lane)))
		}
		for r, v := range c.multiply(p.AT, m) {
			half[r] = append(half[r], v)
		}
	}
	channels := expr.Add(expr.Mul(o, num(p.vecs)), vec)
	for r := range half {
		y := expr.Add(expr.Mul(ty, num(p.Tile)), num(r))
		c.when(clip(y, r, p.Tile, p.height), func() {
			for s, v := range c.multiply(p.AT, half[r]) {
				x := expr.Add(expr.Mul(tx, num(p.Tile)), num(s))
				c.when(clip(x, s, p.Tile, p.width), func() { c.list = append(c.list, p.finish(v, image, channels, y, x, c.lane)) })
			}
		})
	}
	return c.loop()
}

// clip is the condition that output at, the i-th of its tile, is one of n; nil where it always is.
func clip(at expr.Expr, i, tile, n int) expr.Expr {
	if (n+tile-1)/tile*tile-tile+i < n {
		return nil
	}
	return expr.LT(at, num(n))
}
