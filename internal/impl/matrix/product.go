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
// A long rest is computed while the next block is summed, some rows in each step: it is more than what a core looks ahead, and registers of matrices
// would wait for it. L1 holds the weights of a part from one block to the next.
type product struct {
	impl.Anchor
	tileRows, lanes int  // of a tile
	panel           int  // tiles side by side in a panel of weights
	columns         int  // of the result
	depth, steps    int  // dot products of a step, and steps of a sum
	ahead           bool // while a block is summed, what its epilogue touches is asked for
	overlap         bool // the rest of the group is computed of a block while the next is summed
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

// A stage is when blocks are computed: a part of their steps, and where their sums are.
type stage struct {
	part expr.Expr
	from bool // sums begin with what scratch has
	last bool // the rest of the group is computed of them
	sums scratch
}

// A scratch is where sums of blocks are: of each apart, or of one after the other.
type scratch struct {
	*loop.Buffer
	apart bool
}

// at is the index of a sum of a block.
func (s scratch) at(block, row, column expr.Expr) []expr.Expr {
	if s.apart {
		return []expr.Expr{block, row, column}
	}
	return []expr.Expr{row, column}
}

// A block is some of the rows of a panel: which of them it is, its first row, and the rows of its tiles.
type block struct {
	number, first expr.Expr
	tiles         []int
}

func (b block) rows() int {
	total := 0
	for _, n := range b.tiles {
		total += n
	}
	return total
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
	overlap := p.overlap && blocks > 1
	begin := func(b expr.Expr) expr.Expr { return expr.Add(first, expr.Mul(b, expr.Index(size))) }
	all := func(s stage) loop.Stmt {
		one := func(b block) loop.Stmt {
			summed := p.block(panel, b, s, func(step []expr.Expr) loop.Stmt {
				list := []loop.Stmt{p.prefetch(panel, b, s, blocks, step)}
				if p.ahead {
					list = append(list, p.prefetchEpilogue(panel, b, step))
				}
				if s.last && overlap {
					before := expr.Sub(b.number, expr.Index(1))
					list = append(list, p.finishShare(panel, block{before, begin(before), full}, s, step))
				}
				return build.Do(list...)
			})
			if s.last && !overlap {
				return build.Do(summed, p.finish(panel, b, s, expr.Index(0), b.rows()))
			}
			return summed
		}
		var list []loop.Stmt
		last := block{expr.Index(whole - 1), begin(expr.Index(whole - 1)), full}
		if whole > 0 {
			list = append(list, build.Each("block", expr.Index(whole), func(b expr.Expr) loop.Stmt {
				return build.Bind("row", begin(b), func(row expr.Expr) loop.Stmt { return one(block{b, row, full}) })
			}))
		}
		if len(rest) > 0 {
			last = block{expr.Index(whole), begin(expr.Index(whole)), rest}
			list = append(list, one(last))
		}
		if s.last && overlap {
			list = append(list, p.finish(panel, last, s, expr.Index(0), last.rows()))
		}
		return build.Do(list...)
	}
	width := p.panel * p.lanes
	if p.sumParts == 1 {
		sums := scratch{Buffer: build.Scratch("sums", types.I32, min(size, n), width)}
		return build.With(all(stage{part: expr.Index(0), last: true, sums: sums}), sums.Buffer)
	}
	sums := scratch{build.Scratch("sums", types.I32, blocks, min(size, n), width), true}
	list := []loop.Stmt{all(stage{part: expr.Index(0), sums: sums})}
	if p.sumParts > 2 {
		list = append(list, build.Each("part", expr.Index(p.sumParts-2), func(q expr.Expr) loop.Stmt {
			return all(stage{part: expr.Add(q, expr.Index(1)), from: true, sums: sums})
		}))
	}
	list = append(list, all(stage{part: expr.Index(p.sumParts - 1), from: true, last: true, sums: sums}))
	return build.With(build.Do(list...), sums.Buffer)
}

// A tileRow is the tiles of a panel for some rows of a block.
type tileRow struct {
	acc         *loop.Buffer
	at          int // its index in acc
	first, rows int // of the block
}

// block sums a block. Each step begins with what meanwhile makes of it.
func (p *product) block(panel expr.Expr, b block, s stage, meanwhile func(step []expr.Expr) loop.Stmt) loop.Stmt {
	var list []tileRow
	var accs []*loop.Buffer
	first := 0
	for i, n := range b.tiles {
		if i == 0 || b.tiles[i-1] != n {
			accs = append(accs, &loop.Buffer{Name: "acc", DType: types.I32, Shape: []int{0, p.panel, n, p.lanes}, Scope: loop.Tiles})
		}
		acc := accs[len(accs)-1]
		list = append(list, tileRow{acc, acc.Shape[0], first, n})
		acc.Shape[0]++
		first += n
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
		return s.sums.at(b.number, expr.Add(expr.Index(t.first), m), expr.Add(expr.Index(v*p.lanes), n))
	}
	return build.With(build.Do(
		tiles(func(t tileRow, v int) loop.Stmt {
			return p.nest(t, 0, func(m, n, _ expr.Expr) loop.Stmt {
				begin := expr.Expr(expr.Const(types.I32, 0))
				if s.from {
					begin = build.Get(s.sums.Buffer, inScratch(t, v, m, n)...)
				}
				return build.Set(t.acc, begin, t.index(v, m, n)...)
			})
		}),
		p.reduce(s.part, func(step []expr.Expr) loop.Stmt {
			return build.Do(meanwhile(step), tiles(func(t tileRow, v int) loop.Stmt {
				return p.nest(t, p.depth, func(m, n, k expr.Expr) loop.Stmt {
					x := p.data(expr.Add(expr.Add(b.first, expr.Index(t.first)), m), k, step)
					w := p.weight(panel, expr.Add(expr.Index(v*p.lanes), n), k, step)
					dot := &expr.Dot{A: &expr.Load{From: x.from, Index: x.index}, AxisA: x.axis, B: &expr.Load{From: w.from, Index: w.index}, AxisB: w.axis}
					return build.Set(t.acc, expr.Add(build.Get(t.acc, t.index(v, m, n)...), dot), t.index(v, m, n)...)
				})
			}))
		}),
		tiles(func(t tileRow, v int) loop.Stmt {
			return p.nest(t, 0, func(m, n, _ expr.Expr) loop.Stmt {
				return build.Set(s.sums.Buffer, build.Get(t.acc, t.index(v, m, n)...), inScratch(t, v, m, n)...)
			})
		}),
	), accs...)
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

// decideEpilogue asks whether the rest of the group waits for the next block, and whether blocks prefetch what it touches.
func (p *product) decideEpilogue() {
	p.overlap = p.DecideIf("overlap_epilogue", p.steps > p.sumParts && p.Transcendental())
	p.ahead = p.DecideIf("prefetch_epilogue", p.covered())
}

// finishShare computes the share of a step in the rest of the group on a block, if there is one: the one before the block whose step it is.
func (p *product) finishShare(panel expr.Expr, b block, s stage, step []expr.Expr) loop.Stmt {
	steps := p.steps / p.sumParts
	rows := b.rows()
	each := (rows + steps - 1) / steps
	for rows%each != 0 {
		each++
	}
	from := expr.Mul(expr.Sub(p.number(step), expr.Index(p.steps-steps)), expr.Index(each))
	there := expr.GE(b.number, expr.Index(0))
	if each*steps > rows {
		there = expr.And(there, expr.LT(from, expr.Index(rows)))
	}
	return build.When(there, p.finish(panel, b, s, from, each))
}

// finish computes the rest of the group on so many rows of a block, from one on. Columns beyond those of the result are left out: a panel has whole
// tiles.
func (p *product) finish(panel expr.Expr, b block, s stage, from expr.Expr, rows int) loop.Stmt {
	width := p.panel * p.lanes
	sum := func(row, column expr.Expr) expr.Expr {
		return build.Get(s.sums.Buffer, s.sums.at(b.number, row, column)...)
	}
	return build.Each("r", expr.Index(rows), func(i expr.Expr) loop.Stmt {
		r := expr.Add(from, i)
		return p.result(expr.Add(b.first, r), func(place func(column expr.Expr) []expr.Expr) loop.Stmt {
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
