package winograd

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/target"
	"lathe/internal/types"
)

// product multiplies transformed data and weights. A piece of work is a panel of output channels and a block of
// groups of tiles: its products go to scratch, factor by factor, then each tile is transformed back, and the rest of the
// group of operators computed on its outputs before they are stored.
//
//	parallel (panels, blocks of groups) {
//	  for k, group { accumulators = 0; for channels { accumulators += data × weights }; products[k] = accumulators }
//	  for tile { y = rest(Aᵀ products A) }
//	}
func product(a impl.Anchor) (*impl.Plan, error) {
	attrs := a.Attrs.(ops.WinogradProductAttrs)
	data := build.Param("data", a.In[0].DType, a.In[0].Dims()...)
	d, ok := tiledDataOf(data, a.In[0])
	if !ok {
		return nil, nil
	}
	w, err := attrs.Matrices()
	if err != nil {
		return nil, err
	}
	p, ok := newProduct(a, w, d)
	if !ok {
		return nil, nil
	}
	p.decide(productBlock(p.Winograd, impl.Tile{Rows: d.rows, Vecs: p.vecs}, d.groups, p.panels(), d.lanes, a.Target.L2))
	blocks := (d.groups + p.block - 1) / p.block
	p.decideData()
	p.sums = p.newSums()
	body := impl.Divided("part", p.panels()*blocks, func(part expr.Expr) loop.Stmt {
		return build.Bind("panel", expr.Bin(expr.OpFloorDiv, part, expr.Index(blocks)), func(o expr.Expr) loop.Stmt {
			return build.Bind("first", expr.Mul(expr.Bin(expr.OpFloorMod, part, expr.Index(blocks)), expr.Index(p.block)), func(first expr.Expr) loop.Stmt {
				return build.With(build.Do(p.multiply(o, first), p.back(o, first)), p.sums)
			})
		})
	})
	return p.plan(a.Function(body, data, p.weight), a.Out[0].Elements()), nil
}

// conv is product of data that each block transforms for itself, into scratch. A piece of work is a block.
//
//	parallel (blocks of groups) {
//	  for tile { data = Bᵀ tile B }
//	  for panels { products; outputs }
//	}
func conv(a impl.Anchor) (*impl.Plan, error) {
	attrs := a.Attrs.(ops.WinogradInputAttrs)
	w, err := attrs.Matrices()
	lanes := a.Target.Lanes(32)
	if err != nil || a.In[0].Layout != types.ChannelBlocks(a.In[0].Rank(), lanes) || a.In[0].Shape[1]%lanes != 0 {
		return nil, err
	}
	x := build.Param("x", a.In[0].DType, a.In[0].Dims()...)
	t := newInputTransform(w, attrs, x, a.In[0].Shape, tiledData{})
	panel := a.In[1].Layout.BlockOf(1, 3)
	tile, ok := impl.TileOf(a.Point, tileDecision)
	if !ok {
		return nil, nil
	}
	rows := tile.Rows
	t.to = tiledData{groups: (t.tiles() + rows - 1) / rows, factors: w.Products(), blocks: a.In[1].Shape[2] / lanes, rows: rows, lanes: lanes}
	if panel == 0 {
		return nil, nil
	}
	p, ok := newProduct(a, w, t.to)
	if !ok {
		return nil, nil
	}
	p.decide(max(1, p.conv().fusedBlock(w, impl.Tile{Lines: 1, Rows: rows, Vecs: p.vecs}, impl.Core{Target: a.Target})))
	p.local = true
	shape := []int{p.block, t.to.blocks, w.Products(), rows, lanes}
	if factorsOutside(x.DType) {
		shape[1], shape[2] = shape[2], shape[1]
	}
	if rows == 1 {
		shape = slices.Delete(shape, 3, 4)
	}
	p.data.Buffer = build.Scratch("data", x.DType, shape...)
	t.to.Buffer = p.data.Buffer
	blocks := (t.to.groups + p.block - 1) / p.block
	p.sums = p.newSums()
	body := impl.Divided("part", blocks, func(part expr.Expr) loop.Stmt {
		return build.Bind("first", expr.Mul(part, expr.Index(p.block)), func(first expr.Expr) loop.Stmt {
			transform := p.groups(first, func(i expr.Expr) loop.Stmt {
				return build.Each("row", expr.Index(rows), func(row expr.Expr) loop.Stmt {
					return t.column(expr.Add(expr.Mul(expr.Add(first, i), expr.Index(rows)), row), i, row)
				})
			})
			panels := build.Each("panel", expr.Index(p.panels()), func(o expr.Expr) loop.Stmt { return build.Do(p.multiply(o, first), p.back(o, first)) })
			return build.With(build.Do(transform, build.With(panels, p.sums)), p.data.Buffer)
		})
	})
	home := a.Out[0].Elements() // images are divided
	if p.images == 1 {
		home = p.height * p.width * lanes // lines of each block of channels are
	}
	return p.plan(a.Function(body, x, p.weight), home), nil
}

type products struct {
	tileGrid
	impl.Anchor
	data          tiledData
	local         bool         // data holds the groups of a block only
	weight        *loop.Buffer // [O/panel, k, C, panel]
	vecs          int          // vectors of a panel
	block         int          // groups of a block
	together      int          // channels whose products are added at once
	steps         int          // times so many whose products are unrolled
	fetch         int          // factors ahead of which weights are fetched; 0: not at all
	fetchData     int          // blocks of channels ahead of which data is fetched; 0: not at all
	sums          *loop.Buffer // [k, vectors of the block's tiles, lanes]
	height, width int
}

// newProduct describes the product of data and the anchor's second operand; ok is false for layouts that it does not serve.
func newProduct(a impl.Anchor, w *ops.Winograd, d tiledData) (p products, ok bool) {
	u := a.In[1]
	panel := u.Layout.BlockOf(1, 3)
	if panel == 0 || panel%d.lanes != 0 || u.Shape[1]%panel != 0 || u.Layout != weightLayout(u.DType, panel) || a.Out[0].Layout != types.ChannelBlocks(a.Out[0].Rank(), d.lanes) {
		return p, false
	}
	lines := ops.Lines(a.Out[0].Shape)
	height, width := lines[2], lines[3]
	return products{
		tileGrid: tileGrid{w, lines[0], w.Axes[0].Tiles(height), w.Axes[1].Tiles(width)},
		Anchor:   a, data: d, weight: build.Param("weight", u.DType, u.Dims()...), vecs: panel / d.lanes, together: together(u.DType), height: height, width: width,
	}, true
}

// decide asks for what is open: a block has so many groups by default.
func (p *products) decide(block int) {
	lanes := p.data.lanes
	p.block = p.DecideAmong("block", block, nil, impl.UpTo(min(4*block, p.data.groups))...)
	steps := lanes / p.together
	p.steps = p.DecideAmong("steps", unrolled(steps, p.data.rows*p.vecs, p.Target), nil, impl.Powers(steps)...)
	p.fetch = p.DecideAmong("fetch", fetchAhead, nil, 0, 1, 2, 8)
}

// decideData asks how far ahead data is fetched that another kernel transformed. A factor's pieces of a group's data, one for each block of channels,
// lie pages apart, where no hardware expects them: from behind L2, a row of misses begins each of them.
func (p *products) decideData() {
	ahead := 0
	if !factorsOutside(p.data.DType) && p.data.Bytes() > impl.Working(p.Target.L2) {
		ahead = blocksAhead
	}
	p.fetchData = p.DecideAmong("fetch_data", ahead, nil, 0, 1, 2)
}

// unrolled is how many of the steps of a block of channels are unrolled by default, of so many sums. Sums that wait for themselves have
// no time for a loop.
func unrolled(steps, sums int, t *target.Target) int {
	if steps*sums <= impl.WholeBody || sums <= t.Units*t.Latency {
		return steps
	}
	return min(impl.ReductionUnroll, steps)
}

// plan is the kernel, whose parts are divided among workers in order and write the result by the given period.
func (p products) plan(f *loop.Func, home int) *impl.Plan {
	v, h := &p.Axes[0], &p.Axes[1]
	what := fmt.Sprintf("F(%dx%d, %dx%d), %d x %d accumulators of %d lanes", v.Tile, h.Tile, v.Taps, h.Taps, p.data.rows, p.vecs, p.data.lanes)
	if n := p.Phases(); n > 1 {
		what += fmt.Sprintf(", %d phases", n)
	}
	return p.Plan(Name, what, f, p.work(), home)
}

// conv is the convolution that is computed.
func (p products) conv() shape {
	c := shape{Images: p.images, In: p.In[1].Shape[2] / p.Phases(), Out: p.In[1].Shape[1], Height: p.height, Width: p.width, Type: p.In[1].DType}
	for k := range p.Axes {
		x := &p.Axes[k]
		c.Kernel, c.Strides, c.Dilation = append(c.Kernel, x.Stride*(x.Taps-1)+x.Full), append(c.Strides, x.Stride), append(c.Dilation, x.Dilation)
	}
	return c
}

func (p products) panels() int { return p.weight.Shape[0] }

// work is the number of operations of the products.
func (p products) work() float64 {
	return 2 * float64(p.Summed()) * float64(p.tiles()) * float64(p.In[1].Shape[1]*p.In[1].Shape[2]/p.Phases())
}

// newSums is scratch for the products of a block and a panel. The distance of factors is an odd number of vectors, so
// that those of a tile, which are used together, fall into different sets of a cache.
func (p products) newSums() *loop.Buffer {
	return build.Scratch("products", ops.WinogradSum(p.weight.DType), p.Products(), p.block*p.data.rows*p.vecs|1, p.data.lanes)
}

// sum is the place of the products of a tile, in a vector of channels.
func (p products) sum(k, i, row, vec, lane expr.Expr) []expr.Expr {
	tile := expr.Add(expr.Mul(i, expr.Index(p.data.rows)), row)
	return []expr.Expr{k, expr.Add(expr.Mul(tile, expr.Index(p.vecs)), vec), lane}
}

// groups is a loop over the groups of the block that starts at first; the last block may have fewer.
func (p products) groups(first expr.Expr, body func(i expr.Expr) loop.Stmt) loop.Stmt {
	return build.Each("g", p.groupsAt(first), body)
}

// groupsAt is the number of groups of the block that starts at first.
func (p products) groupsAt(first expr.Expr) expr.Expr {
	if p.data.groups%p.block == 0 {
		return expr.Index(p.block)
	}
	return expr.Min(expr.Index(p.block), expr.Sub(expr.Index(p.data.groups), first))
}

// multiply makes the products of panel o and the block of groups from first on.
func (p products) multiply(o, first expr.Expr) loop.Stmt {
	return build.Each("k", expr.Index(p.Products()), func(k expr.Expr) loop.Stmt {
		group := func(fetch bool) func(i expr.Expr) loop.Stmt {
			return func(i expr.Expr) loop.Stmt {
				if p.local {
					return p.group(o, k, i, i, fetch)
				}
				return p.group(o, k, expr.Add(first, i), i, fetch)
			}
		}
		if p.fetch == 0 || p.block <= p.fetchers() {
			return p.groups(first, group(p.fetch > 0))
		}
		n, fetchers := p.groupsAt(first), expr.Index(p.fetchers())
		others := expr.Max(expr.Sub(n, fetchers), expr.Index(0))
		return build.Do(build.Each("g", expr.Min(n, fetchers), group(true)), build.Loop(loop.Serial, "g", fetchers, others, group(false)))
	})
}

// group sums the products of a group over channels, in registers, and asks for weights of a later factor where fetch says so.
func (p products) group(o, k, group, i expr.Expr, fetch bool) loop.Stmt {
	lanes := p.data.lanes
	acc := &loop.Buffer{Name: "acc", DType: p.sums.DType, Shape: []int{p.data.rows, p.vecs, lanes}, Scope: loop.Reg}
	tile := func(body func(row, vec, lane expr.Expr) loop.Stmt) loop.Stmt {
		return build.Loop(loop.Unrolled, "row", expr.Index(0), expr.Index(p.data.rows), func(row expr.Expr) loop.Stmt {
			return build.Loop(loop.Unrolled, "vec", expr.Index(0), expr.Index(p.vecs), func(vec expr.Expr) loop.Stmt {
				return build.Loop(loop.Vector, "lane", expr.Index(0), expr.Index(lanes), func(lane expr.Expr) loop.Stmt { return body(row, vec, lane) })
			})
		})
	}
	column := func(vec, lane expr.Expr) expr.Expr { return expr.Add(expr.Mul(vec, expr.Index(lanes)), lane) }
	step := func(block, c expr.Expr) loop.Stmt {
		pair := expr.Add(expr.Mul(block, expr.Index(lanes/p.together)), c)
		ahead := loop.Stmt(&loop.Seq{})
		if fetch {
			ahead = p.prefetch(o, k, pair, i)
		}
		return build.Do(ahead, tile(func(row, vec, lane expr.Expr) loop.Stmt {
			x := p.data.at(group, k, block, row, expr.Mul(c, expr.Index(p.together)))
			return build.Set(acc, expr.Add(build.Get(acc, row, vec, lane), p.times(x, []expr.Expr{o, k, pair, column(vec, lane)})), row, vec, lane)
		}))
	}
	return build.With(build.Do(
		tile(func(row, vec, lane expr.Expr) loop.Stmt {
			return build.Set(acc, expr.Const(acc.DType, 0), row, vec, lane)
		}),
		p.blocks(k, func(block expr.Expr) loop.Stmt {
			times := lanes / p.together / p.steps
			return p.askingAhead(group, k, block, times, func(ask func(c expr.Expr) loop.Stmt) loop.Stmt {
				return build.Each("c", expr.Index(times), func(c expr.Expr) loop.Stmt {
					return build.Do(ask(c), build.Loop(loop.Unrolled, "ci", expr.Index(0), expr.Index(p.steps), func(ci expr.Expr) loop.Stmt {
						return step(block, expr.Add(expr.Mul(c, expr.Index(p.steps)), ci))
					}))
				})
			})
		}),
		tile(func(row, vec, lane expr.Expr) loop.Stmt {
			return build.Set(p.sums, build.Get(acc, row, vec, lane), p.sum(k, i, row, vec, lane)...)
		}),
	), acc)
}

// blocks is a loop over the blocks of channels of which product k is not 0.
func (p products) blocks(k expr.Expr, body func(block expr.Expr) loop.Stmt) loop.Stmt {
	v, h := &p.Axes[0], &p.Axes[1]
	if v.Full == v.Phases && h.Full == h.Phases {
		return build.Each("block", expr.Index(p.data.blocks), body)
	}
	phases := func(name string, of *ops.WinogradAxis, k expr.Expr, body func(phase expr.Expr) loop.Stmt) loop.Stmt {
		n := expr.Expr(expr.Index(of.Phases))
		if of.Full < of.Phases {
			n = expr.If(expr.LT(k, expr.Index(of.Alpha-1)), n, expr.Index(of.Full))
		}
		return build.Each(name, n, body)
	}
	each := p.data.blocks / p.Phases()
	return phases("py", v, expr.Bin(expr.OpFloorDiv, k, expr.Index(h.Alpha)), func(py expr.Expr) loop.Stmt {
		return phases("px", h, expr.Bin(expr.OpFloorMod, k, expr.Index(h.Alpha)), func(px expr.Expr) loop.Stmt {
			phase := expr.Add(expr.Mul(py, expr.Index(h.Phases)), px)
			return build.Each("block", expr.Index(each), func(block expr.Expr) loop.Stmt { return body(expr.Add(expr.Mul(phase, expr.Index(each)), block)) })
		})
	})
}

// times is the product of the elements of data at x and of the weights at w, or of those and the ones behind them.
func (p products) times(x, w []expr.Expr) expr.Expr {
	if p.together == 1 {
		return expr.Mul(build.Get(p.data.Buffer, x...), build.Get(p.weight, w...))
	}
	return &expr.Dot{
		A: &expr.Load{From: p.data.Buffer, Index: x}, AxisA: len(x) - 1,
		B: &expr.Load{From: p.weight, Index: append(w, expr.Index(0))}, AxisB: len(w),
	}
}

// fetchers are the groups of a block that ask for weights, the first ones: together for all of a factor, in whole vectors.
func (p products) fetchers() int { return min(p.block, p.vecs) }

// prefetch asks for weights of a later factor while these are multiplied, which takes less time than to wait for memory then.
// The pass of group i over the channels asks for its share of a row.
func (p products) prefetch(o, k, pair, i expr.Expr) loop.Stmt {
	share := (p.vecs + p.fetchers() - 1) / p.fetchers() * p.data.lanes * p.together
	stride := p.weight.Strides()
	at := expr.Add(expr.Mul(o, expr.Index(stride[0])), expr.Mul(expr.Add(k, expr.Index(p.fetch)), expr.Index(stride[1])))
	at = expr.Add(at, expr.Mul(expr.Add(expr.Mul(i, expr.Index(p.data.blocks*p.data.lanes/p.together)), pair), expr.Index(share)))
	return &loop.Prefetch{From: p.weight, At: at, Lines: (p.weight.DType.Size()*share + loop.LineBytes - 1) / loop.LineBytes}
}

// askingAhead is the loop over the channels of a block, so many times, with what asks for the data of a later block meanwhile: each time for a
// share, or before the loop for a few lines. Behind a group's last block lies the first one of the next
// group, or of the next factor where those are outside.
func (p products) askingAhead(group, k, block expr.Expr, times int, body func(ask func(c expr.Expr) loop.Stmt) loop.Stmt) loop.Stmt {
	nothing := func(expr.Expr) loop.Stmt { return build.Do() }
	if p.fetchData == 0 {
		return body(nothing)
	}
	line := loop.LineBytes / p.data.DType.Size()
	lines := (p.data.rows*p.data.lanes + line - 1) / line
	begin, strides := expr.Expr(expr.Index(0)), p.data.Strides()
	for i, x := range p.data.at(group, k, expr.Add(block, expr.Index(p.fetchData)), expr.Index(0), expr.Index(0)) {
		begin = expr.Add(begin, expr.Mul(x, expr.Index(strides[i])))
	}
	if lines <= burst {
		return build.Do(&loop.Prefetch{From: p.data.Buffer, At: begin, Lines: lines, Near: true}, body(nothing))
	}
	share := (lines + times - 1) / times
	return body(func(c expr.Expr) loop.Stmt {
		return &loop.Prefetch{From: p.data.Buffer, At: expr.Add(begin, expr.Mul(c, expr.Index(share*line))), Lines: share, Near: true}
	})
}

// back transforms the tiles of a block to outputs.
func (p products) back(o, first expr.Expr) loop.Stmt {
	return p.groups(first, func(i expr.Expr) loop.Stmt {
		return build.Each("row", expr.Index(p.data.rows), func(row expr.Expr) loop.Stmt {
			tile := expr.Add(expr.Mul(expr.Add(first, i), expr.Index(p.data.rows)), row)
			one := p.place(tile, func(image, y, x expr.Expr) loop.Stmt {
				return build.Each("vec", expr.Index(p.vecs), func(vec expr.Expr) loop.Stmt { return p.outputs(o, vec, i, row, image, y, x) })
			})
			if p.tiles() == p.data.groups*p.data.rows {
				return one
			}
			return build.When(expr.LT(tile, expr.Index(p.tiles())), one)
		})
	})
}

// outputs transforms the products of one tile and one vector of channels back and stores what lies within the result. The first output is
// at y and x.
func (p products) outputs(o, vec, i, row, image, y, x expr.Expr) loop.Stmt {
	c := newLaneProgram(p.sums.DType, p.data.lanes)
	down, across := &p.Axes[0], &p.Axes[1]
	half := make([][]expr.Expr, down.Tile)
	for k := range across.Alpha {
		m := make([]expr.Expr, down.Alpha)
		for l := range m {
			m[l] = c.keep(build.Get(p.sums, p.sum(expr.Index(l*across.Alpha+k), i, row, vec, c.lane)...))
		}
		for r, v := range c.multiply(down.AT, m) {
			half[r] = append(half[r], v)
		}
	}
	channels := expr.Add(expr.Mul(o, expr.Index(p.vecs)), vec)
	for r := range half {
		y := expr.Add(y, expr.Index(r*down.Dilation))
		c.when(clip(y, r, down, p.height), func() {
			for s, v := range c.multiply(across.AT, half[r]) {
				x := expr.Add(x, expr.Index(s*across.Dilation))
				c.when(clip(x, s, across, p.width), func() { c.list = append(c.list, p.finish(p.whole(v), image, channels, y, x, c.lane)) })
			}
		})
	}
	return c.loop()
}

// finish computes the rest of the group on output v of vectors of channels, and stores it.
func (p products) finish(v, image, channels, y, x, lane expr.Expr) loop.Stmt {
	return p.Finish(v, append(ops.OnLine(p.Out[0].Rank(), image, channels, y, x), lane)...)
}

// whole is an output as it is, or of integers a quarter.
func (p products) whole(v expr.Expr) expr.Expr {
	if p.sums.DType.IsInt() {
		return ops.WinogradShifted(v)
	}
	return v
}

// clip is the condition that output at, the i-th of its tile, is one of n; nil where it always is.
func clip(at expr.Expr, i int, w *ops.WinogradAxis, n int) expr.Expr {
	if w.First(w.Tiles(n)-1)+i*w.Dilation < n {
		return nil
	}
	return expr.LT(at, expr.Index(n))
}
