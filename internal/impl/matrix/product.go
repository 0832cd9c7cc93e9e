package matrix

import (
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/types"
)

// A product is how rows of data become rows of a group's result. Sums of a block, of some tiles of rows by the tiles of a panel, stay in
// registers while all steps are added; then they go to scratch, where the rest of the group finds them as vectors.
//
//	for block {
//	  sums = 0
//	  for steps { sums += data × weights }
//	  scratch = sums
//	  for row, vector { y = rest(scratch) }
//	}
type product struct {
	impl.Anchor
	tileRows, lanes int  // of a tile
	panel           int  // tiles side by side in a panel of weights
	columns         int  // of the result
	depth, steps    int  // dot products of a step, and steps of a sum
	ahead           bool // while a block is summed, what its epilogue touches is asked for

	reduce func(body func(step []expr.Expr) loop.Stmt) loop.Stmt // the loops over all steps
	number func(step []expr.Expr) expr.Expr                      // of a step among them

	weights *loop.Buffer // panels one after the other
	// data is the k-th group of bytes of a row at a step, weight that of a column of a panel.
	data   func(row, k expr.Expr, step []expr.Expr) operand
	weight func(panel, column, k expr.Expr, step []expr.Expr) operand
	// result runs body where a row is one of the result's, with the index of an element of the result in that row.
	result func(row expr.Expr, body func(place func(column expr.Expr) []expr.Expr) loop.Stmt) loop.Stmt
}

// An operand is a group of bytes along an axis of a buffer.
type operand struct {
	from  *loop.Buffer
	index []expr.Expr
	axis  int
}

// rows computes [first, first + n) of a panel of columns.
func (p *product) rows(panel, first expr.Expr, n int) loop.Stmt {
	whole, rest := cut(n, p.tileRows, rowTiles(p.panel))
	size := p.tileRows * rowTiles(p.panel)
	blocks := whole
	if len(rest) > 0 {
		blocks++
	}
	fetch := func(b, row expr.Expr, rows int) func(step []expr.Expr) loop.Stmt {
		return func(step []expr.Expr) loop.Stmt {
			weights := p.prefetch(panel, b, blocks, step)
			if !p.ahead {
				return weights
			}
			return build.Do(weights, p.prefetchEpilogue(panel, row, rows, step))
		}
	}
	var list []loop.Stmt
	if whole > 0 {
		full := make([]int, rowTiles(p.panel))
		for i := range full {
			full[i] = p.tileRows
		}
		list = append(list, build.Each("block", expr.Index(whole), func(b expr.Expr) loop.Stmt {
			return build.Bind("row", expr.Add(first, expr.Mul(b, expr.Index(size))), func(row expr.Expr) loop.Stmt { return p.block(panel, row, full, fetch(b, row, size)) })
		}))
	}
	if len(rest) > 0 {
		row := expr.Add(first, expr.Index(whole*size))
		list = append(list, p.block(panel, row, rest, fetch(expr.Index(whole), row, n-whole*size)))
	}
	return build.Do(list...)
}

// A tileRow is the tiles of a panel for some rows of a block.
type tileRow struct {
	acc         *loop.Buffer
	at          int // its index in acc
	first, rows int // of the block
}

// block computes tiles of the given rows, from first on. Each step begins with what fetch makes of it.
func (p *product) block(panel, first expr.Expr, rows []int, fetch func(step []expr.Expr) loop.Stmt) loop.Stmt {
	var list []tileRow
	var accs []*loop.Buffer
	total := 0
	for i, n := range rows {
		if i == 0 || rows[i-1] != n {
			accs = append(accs, &loop.Buffer{Name: "acc", DType: types.I32, Shape: []int{0, p.panel, n, p.lanes}, Scope: loop.Tiles})
		}
		acc := accs[len(accs)-1]
		list = append(list, tileRow{acc, acc.Shape[0], total, n})
		acc.Shape[0]++
		total += n
	}
	sums := build.Scratch("sums", types.I32, total, p.panel*p.lanes)
	tiles := func(body func(t tileRow, v int) loop.Stmt) loop.Stmt {
		var all []loop.Stmt
		for _, t := range list {
			for v := range p.panel {
				all = append(all, body(t, v))
			}
		}
		return build.Do(all...)
	}
	multiply := build.Do(
		tiles(func(t tileRow, v int) loop.Stmt {
			return p.nest(t, 0, func(m, n, _ expr.Expr) loop.Stmt {
				return build.Set(t.acc, expr.Const(types.I32, 0), t.index(v, m, n)...)
			})
		}),
		p.reduce(func(step []expr.Expr) loop.Stmt {
			return build.Do(fetch(step), tiles(func(t tileRow, v int) loop.Stmt {
				return p.nest(t, p.depth, func(m, n, k expr.Expr) loop.Stmt {
					x := p.data(expr.Add(expr.Add(first, expr.Index(t.first)), m), k, step)
					w := p.weight(panel, expr.Add(expr.Index(v*p.lanes), n), k, step)
					dot := &expr.Dot{A: &expr.Load{From: x.from, Index: x.index}, AxisA: x.axis, B: &expr.Load{From: w.from, Index: w.index}, AxisB: w.axis}
					return build.Set(t.acc, expr.Add(build.Get(t.acc, t.index(v, m, n)...), dot), t.index(v, m, n)...)
				})
			}))
		}),
		tiles(func(t tileRow, v int) loop.Stmt {
			return p.nest(t, 0, func(m, n, _ expr.Expr) loop.Stmt {
				return build.Set(sums, build.Get(t.acc, t.index(v, m, n)...), expr.Add(expr.Index(t.first), m), expr.Add(expr.Index(v*p.lanes), n))
			})
		}),
	)
	return build.With(build.Do(build.With(multiply, accs...), p.finish(panel, first, sums, total)), sums)
}

func (t tileRow) index(v int, m, n expr.Expr) []expr.Expr {
	return []expr.Expr{expr.Index(t.at), expr.Index(v), m, n}
}

// nest is the matrix loops over a tile, and over so many dot products if depth is not 0.
func (p *product) nest(t tileRow, depth int, body func(m, n, k expr.Expr) loop.Stmt) loop.Stmt {
	each := func(name string, n int, body func(i expr.Expr) loop.Stmt) loop.Stmt {
		return build.Loop(loop.Matrix, name, expr.Index(0), expr.Index(n), body)
	}
	return each("m", t.rows, func(m expr.Expr) loop.Stmt {
		return each("n", p.lanes, func(n expr.Expr) loop.Stmt {
			if depth == 0 {
				return body(m, n, nil)
			}
			return each("k", depth, func(k expr.Expr) loop.Stmt { return body(m, n, k) })
		})
	})
}

// finish computes the rest of the group on so many rows of sums. Columns beyond those of the result are left out: a panel has whole tiles.
func (p *product) finish(panel, first expr.Expr, sums *loop.Buffer, rows int) loop.Stmt {
	width := p.panel * p.lanes
	return build.Each("r", expr.Index(rows), func(r expr.Expr) loop.Stmt {
		return p.result(expr.Add(first, r), func(place func(column expr.Expr) []expr.Expr) loop.Stmt {
			return build.Bind("column", expr.Mul(panel, expr.Index(width)), func(column expr.Expr) loop.Stmt {
				var list []loop.Stmt
				for v := range p.panel {
					vector := func(lanes int) loop.Stmt {
						return build.Loop(loop.Vector, "lane", expr.Index(0), expr.Index(lanes), func(lane expr.Expr) loop.Stmt {
							at := expr.Add(expr.Index(v*p.lanes), lane)
							return p.Finish(build.Get(sums, r, at), place(expr.Add(column, at))...)
						})
					}
					// The last panel has columns up to p.columns.
					last := p.columns - (p.columns-1)/width*width - v*p.lanes
					one := p.columns <= width
					switch {
					case last >= p.lanes:
						list = append(list, vector(p.lanes))
					case one && last > 0:
						list = append(list, vector(last))
					case !one:
						s := &loop.If{Cond: expr.LT(column, expr.Index(p.columns-width)), Then: vector(p.lanes)}
						if last > 0 {
							s.Else = vector(last)
						}
						list = append(list, s)
					}
				}
				return build.Do(list...)
			})
		})
	})
}
