package matrix

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/types"
)

// A product is how rows of data become rows of a group's result. Sums of a block, of some tiles of rows by the tiles of a panel, stay in
// registers while all steps are added; then they go to scratch, where the rest of the group finds them as vectors.
//
//	for part of the steps, block {
//	  sums = 0, or what scratch has of the parts before
//	  for steps { sums += data × weights }
//	  scratch = sums
//	  for row, vector { y = rest(scratch) } behind the last part
//	}
//
// L1 holds the weights of a part from one block to the next.
type product struct {
	impl.Anchor
	tileRows, lanes int  // of a tile
	panel           int  // tiles side by side in a panel of weights
	columns         int  // of the result
	depth, steps    int  // dot products of a step, and steps of a sum
	ahead           bool // while a block is summed, what its epilogue touches is asked for
	sumParts        int  // parts of a sum, one of which all blocks take before the next

	loops  []stepLoop                       // over all steps, from the outermost on
	number func(step []expr.Expr) expr.Expr // of a step among them

	weights *loop.Buffer // panels one after the other
	// data is the k-th group of bytes of a row at a step, weight that of a column of a panel.
	data   func(row, k expr.Expr, step []expr.Expr) operand
	weight func(panel, column, k expr.Expr, step []expr.Expr) operand
	// result runs body where a row is one of the result's, with the index of an element of the result in that row.
	result func(row expr.Expr, body func(place func(column expr.Expr) []expr.Expr) loop.Stmt) loop.Stmt
}

// A stepLoop is one of the loops over steps.
type stepLoop struct {
	name   string
	extent int
}

// An operand is a group of bytes along an axis of a buffer.
type operand struct {
	from  *loop.Buffer
	index []expr.Expr
	axis  int
}

// reduce is the loops over the steps of a part.
func (p *product) reduce(part expr.Expr, body func(step []expr.Expr) loop.Stmt) loop.Stmt {
	var step []expr.Expr
	var next func(i int) loop.Stmt
	next = func(i int) loop.Stmt {
		if i == len(p.loops) {
			return body(slices.Clone(step))
		}
		extent, from := p.loops[i].extent, expr.Expr(expr.Index(0))
		if i == p.divided() {
			extent /= p.sumParts
			from = expr.Mul(part, expr.Index(extent))
		}
		return build.Each(p.loops[i].name, expr.Index(extent), func(at expr.Expr) loop.Stmt {
			step = append(step[:i], expr.Add(from, at))
			return next(i + 1)
		})
	}
	return next(0)
}

// divided is the loop over steps of which parts have some each: the first of several iterations.
func (p *product) divided() int {
	return max(0, slices.IndexFunc(p.loops, func(l stepLoop) bool { return l.extent > 1 }))
}

// A stage is when a block is computed: a part of its steps, which number it is among the blocks, and where its sums are.
type stage struct {
	part, block expr.Expr
	from        bool // sums begin with what scratch has
	last        bool // the rest of the group is computed of them
	sums        *loop.Buffer
}

// rows computes [first, first + n) of a panel of columns.
func (p *product) rows(panel, first expr.Expr, n int) loop.Stmt {
	whole, rest := cut(n, p.tileRows, rowTiles(p.panel))
	size := p.tileRows * rowTiles(p.panel)
	blocks := whole
	if len(rest) > 0 {
		blocks++
	}
	full := slices.Repeat([]int{p.tileRows}, rowTiles(p.panel))
	all := func(s stage) loop.Stmt {
		block := func(b, row expr.Expr, rows []int, n int) loop.Stmt {
			s.block = b
			return p.block(panel, row, rows, s, func(step []expr.Expr) loop.Stmt {
				weights := p.prefetch(panel, s, blocks, step)
				if !p.ahead {
					return weights
				}
				return build.Do(weights, p.prefetchEpilogue(panel, row, n, step))
			})
		}
		var list []loop.Stmt
		if whole > 0 {
			list = append(list, build.Each("block", expr.Index(whole), func(b expr.Expr) loop.Stmt {
				return build.Bind("row", expr.Add(first, expr.Mul(b, expr.Index(size))), func(row expr.Expr) loop.Stmt { return block(b, row, full, size) })
			}))
		}
		if len(rest) > 0 {
			list = append(list, block(expr.Index(whole), expr.Add(first, expr.Index(whole*size)), rest, n-whole*size))
		}
		return build.Do(list...)
	}
	if p.sumParts == 1 {
		return all(stage{part: expr.Index(0), last: true})
	}
	sums := build.Scratch("sums", types.I32, blocks, min(size, n), p.panel*p.lanes)
	list := []loop.Stmt{all(stage{part: expr.Index(0), sums: sums})}
	if p.sumParts > 2 {
		list = append(list, build.Each("part", expr.Index(p.sumParts-2), func(q expr.Expr) loop.Stmt {
			return all(stage{part: expr.Add(q, expr.Index(1)), from: true, sums: sums})
		}))
	}
	list = append(list, all(stage{part: expr.Index(p.sumParts - 1), from: true, last: true, sums: sums}))
	return build.With(build.Do(list...), sums)
}

// A tileRow is the tiles of a panel for some rows of a block.
type tileRow struct {
	acc         *loop.Buffer
	at          int // its index in acc
	first, rows int // of the block
}

// block computes tiles of the given rows, from first on. Each step begins with what fetch makes of it.
func (p *product) block(panel, first expr.Expr, rows []int, s stage, fetch func(step []expr.Expr) loop.Stmt) loop.Stmt {
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
	sums := s.sums
	if sums == nil {
		sums = build.Scratch("sums", types.I32, total, p.panel*p.lanes)
	}
	at := func(row, column expr.Expr) []expr.Expr {
		if s.sums != nil {
			return []expr.Expr{s.block, row, column}
		}
		return []expr.Expr{row, column}
	}
	tiles := func(body func(t tileRow, v int) loop.Stmt) loop.Stmt {
		var all []loop.Stmt
		for _, t := range list {
			for v := range p.panel {
				all = append(all, body(t, v))
			}
		}
		return build.Do(all...)
	}
	inScratch := func(t tileRow, v int, m, n expr.Expr) []expr.Expr {
		return at(expr.Add(expr.Index(t.first), m), expr.Add(expr.Index(v*p.lanes), n))
	}
	multiply := build.Do(
		tiles(func(t tileRow, v int) loop.Stmt {
			return p.nest(t, 0, func(m, n, _ expr.Expr) loop.Stmt {
				begin := expr.Expr(expr.Const(types.I32, 0))
				if s.from {
					begin = build.Get(sums, inScratch(t, v, m, n)...)
				}
				return build.Set(t.acc, begin, t.index(v, m, n)...)
			})
		}),
		p.reduce(s.part, func(step []expr.Expr) loop.Stmt {
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
				return build.Set(sums, build.Get(t.acc, t.index(v, m, n)...), inScratch(t, v, m, n)...)
			})
		}),
	)
	all := build.With(multiply, accs...)
	if s.last {
		all = build.Do(all, p.finish(panel, first, func(row, column expr.Expr) expr.Expr { return build.Get(sums, at(row, column)...) }, total))
	}
	if s.sums != nil {
		return all
	}
	return build.With(all, sums)
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
func (p *product) finish(panel, first expr.Expr, sum func(row, column expr.Expr) expr.Expr, rows int) loop.Stmt {
	width := p.panel * p.lanes
	return build.Each("r", expr.Index(rows), func(r expr.Expr) loop.Stmt {
		return p.result(expr.Add(first, r), func(place func(column expr.Expr) []expr.Expr) loop.Stmt {
			return build.Bind("column", expr.Mul(panel, expr.Index(width)), func(column expr.Expr) loop.Stmt {
				var list []loop.Stmt
				for v := range p.panel {
					vector := func(lanes int) loop.Stmt {
						return build.Loop(loop.Vector, "lane", expr.Index(0), expr.Index(lanes), func(lane expr.Expr) loop.Stmt {
							at := expr.Add(expr.Index(v*p.lanes), lane)
							return p.Finish(sum(r, at), place(expr.Add(column, at))...)
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
