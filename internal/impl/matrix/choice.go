package matrix

import (
	"cmp"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A shape is a product of rows of data by columns of weights, of which each sum has taps runs of depth elements that lie together. Rows
// have bytes in common where distinct, the bytes of data that there are, is less than theirs. copied is the bytes of data that are copied before
// they are multiplied. Rows begin pitch bytes behind each other. The outermost loop over several taps has so many iterations.
type shape struct{ rows, columns, taps, depth, distinct, copied, pitch, outermost int }

// shapeOf describes n if registers of matrices may compute it: its operands lie as products of them need, or can.
func shapeOf(n *impl.Node) (s shape, ok bool) {
	if n.Op != ops.QnnMatmul && n.Op != ops.QnnConv2d || !n.Const(2) || !n.Zero(1) || !n.Zero(3) {
		return s, false
	}
	x, w, y := n.In[0].Shape, n.In[2].Shape, n.Out.Shape
	if n.In[0].DType.Size() > 1 || n.In[2].DType.Size() > 1 || n.Out.Elements() == 0 {
		return s, false
	}
	if n.Op == ops.QnnMatmul {
		s = rowsBy(n.Out.Elements()/y[len(y)-1], y[len(y)-1], impl.DotDepth(x[len(x)-1], expr.DotWidth))
		s.distinct = n.In[0].Elements()
		return s, len(w) == 2
	}
	a := n.Attrs.(ops.ConvAttrs)
	if a.Groups != 1 || types.Count(w) == 0 {
		return s, false
	}
	return gridOf(a, x, w, y).shape(w[0]), true
}

// step is how many dot products of a run a tile takes at once: the most that divide it, at most so many; 0 where none do.
func step(depth, most int) int {
	if depth%expr.DotWidth != 0 {
		return 0
	}
	groups := depth / expr.DotWidth
	for d := min(most, groups); d > 0; d-- {
		if groups%d == 0 {
			return d
		}
	}
	return 0
}

// ways offers products of matrices for n.
func ways(n *impl.Node, c impl.Core) ([]impl.Way, string) {
	set := c.Tiles()
	if set == nil || n.Given {
		return nil, ""
	}
	s, ok := shapeOf(n)
	if !ok || step(s.depth, set.RowBytes/expr.DotWidth) == 0 {
		return nil, ""
	}
	panels := panelsFor(s.columns, set.RowBytes/4)
	best := 0
	for i, p := range panels {
		if s.whole(p, c) < s.whole(panels[best], c) {
			best = i
		}
	}
	return []impl.Way{{Text: impl.Matrix, Cost: s.whole(panels[best], c), Name: impl.Matrix, Decide: func(a *impl.NodeAsker) {
		impl.DecideOne(a, "panel", best, panels, func(p int) float64 { return s.whole(p, c) })
	}}}, ""
}

// panelsFor are the tiles that a panel of weights may have side by side.
func panelsFor(columns, lanes int) []int {
	return slices.DeleteFunc([]int{1, 2}, func(p int) bool { return p > 1 && p*lanes > (columns+lanes-1)/lanes*lanes })
}

// whole is the time of a product by panels of so many tiles, with weights that come from memory.
func (s shape) whole(panel int, c impl.Core) float64 {
	least := s.cycles(panel, c)
	for _, n := range counts(s.divided(c)) {
		if n > 1 {
			least = min(least, s.inParts(panel, n, c)+copying(s.copied, c))
		}
	}
	return least + c.Fetched(float64(s.weights()))
}

// divided is the number of iterations of the loop over steps of which parts have some each.
func (s shape) divided(c impl.Core) int {
	if s.outermost > 1 {
		return s.outermost
	}
	groups := s.depth / expr.DotWidth
	return groups / step(s.depth, c.Tiles().RowBytes/expr.DotWidth)
}

// counts are the numbers of equal parts that so many iterations are cut in.
func counts(extent int) []int {
	return slices.DeleteFunc(impl.UpTo(min(extent, mostParts)), func(n int) bool { return extent%n != 0 })
}

// weights are the bytes of the constant operand.
func (s shape) weights() int { return s.columns * s.taps * s.depth }

// rowsBy is a product of so many rows of bytes, which lie one behind the other, by columns.
func rowsBy(rows, columns, bytes int) shape {
	return shape{rows: rows, columns: columns, taps: 1, depth: bytes, distinct: rows * bytes, pitch: bytes}
}

// cycles are those of a product by panels of so many tiles whose operands are in caches. Data come from L2 for each panel, unless L1 holds all of them, and a
// panel does for each block, unless L1 holds that.
func (s shape) cycles(panel int, c impl.Core) float64 {
	set := c.Tiles()
	load := func(bytes int) float64 {
		if bytes <= impl.Crowded(c.L1) {
			return 0
		}
		return tileFromL2(c)
	}
	return s.steps(panel, 1, load(s.distinct)*s.apart(), load(panel*set.RowBytes/4*s.taps*s.depth), c) + copying(s.copied, c)
}

// tileFromL2 is the cycles in which a tile comes from L2.
func tileFromL2(c impl.Core) float64 {
	set := c.Tiles()
	return c.FromL2(float64(set.Rows * set.RowBytes))
}

// apart is the share of data that rows do not have in common.
func (s shape) apart() float64 {
	return min(1, float64(s.distinct)/float64(s.rows*s.taps*s.depth))
}

// steps is the cycles of all steps, where a tile of data and one of weights come from L2 in so many: of each step the longest of products, their
// latency, loads, and what comes from L2, as all are under way together but for a little, and the time in which sums go through scratch, to
// the next of so many parts and to what is computed of them.
func (s shape) steps(panel, parts int, dataLoad, weightLoad float64, c impl.Core) (total float64) {
	set := c.Tiles()
	lanes, groups := set.RowBytes/4, s.depth/expr.DotWidth
	steps := float64(s.taps * (groups / step(s.depth, set.RowBytes/expr.DotWidth)))
	panels := (s.columns + panel*lanes - 1) / (panel * lanes)
	add := func(rows []int, times int) {
		tiles := float64(len(rows) * panel)
		loads := float64(len(rows) + panel)
		fromL2 := float64(len(rows))*dataLoad + float64(panel)*weightLoad
		one := steps * (max(tiles*float64(set.ProductCycles), float64(set.Latency), loads*float64(set.LoadCycles), fromL2) + exposed*fromL2)
		for _, r := range rows {
			one += float64(parts*panel*r) * sumCycles
		}
		total += one * float64(times)
	}
	whole, rest := cut(s.rows, set.Rows, rowTiles(panel))
	add(slices.Repeat([]int{set.Rows}, rowTiles(panel)), whole)
	if len(rest) > 0 {
		add(rest, 1)
	}
	return total * float64(panels)
}

// inParts is the cycles of all steps where sums are made in so many parts: L1 holds the weights of a part from one block to the next
// if it holds them beside the data of a block.
func (s shape) inParts(panel, parts int, c impl.Core) float64 {
	set := c.Tiles()
	dataLoad, weightLoad := tileFromL2(c)*s.apart(), tileFromL2(c)
	if s.distinct <= impl.Crowded(c.L1) {
		dataLoad = 0
	}
	rows := min(s.rows, set.Rows*rowTiles(panel))
	part := s.taps * s.depth / parts
	if bytes := float64(panel*set.RowBytes/4) + float64(rows)*s.apart(); bytes*float64(part) <= float64(impl.Crowded(c.L1)) {
		weightLoad *= max(float64(rows)/float64(s.rows), s.crowded(rows, part, c))
	}
	return s.steps(panel, parts, dataLoad, weightLoad, c)
}

// crowded is the share of L1 where nothing stays but so many bytes of each of some rows, because they begin at distances that put them into few sets.
func (s shape) crowded(rows, bytes int, c impl.Core) float64 {
	span := c.ISA().SetSpan
	if span == 0 || s.pitch == 0 {
		return 0
	}
	places := 1 // of rows within a span
	for places*s.pitch%span != 0 && places < rows {
		places++
	}
	if rows/places < c.L1/span {
		return 0
	}
	return min(1, float64(places*bytes)/float64(span))
}

// decideParts asks in how many equal parts the sums of a piece of work are made.
func (p *product) decideParts(s shape) {
	list := counts(p.loops[p.divided()].extent)
	cost := func(parts int) float64 { return s.inParts(p.panel, parts, impl.Core{Target: p.Target}) }
	p.sumParts = p.DecideAmong("sum_parts", slices.MinFunc(list, func(a, b int) int { return cmp.Compare(cost(a), cost(b)) }), cost, list...)
}

// copying is the cycles to copy so many bytes of data to lines: they come from L2, and where L1 does not hold both the lines come from there
// before, and go back.
func copying(bytes int, c impl.Core) float64 {
	moved := float64(bytes)
	if 2*bytes > impl.Crowded(c.L1) {
		moved *= 3
	}
	return c.FromL2(moved)
}

// rowTiles is how many tiles of rows are computed together with a panel of so many: as many sums as hide the latency of a product, and
// registers for their operands.
func rowTiles(panel int) int {
	if panel == 1 {
		return 4
	}
	return 2
}

// cut divides rows into blocks of so many whole tiles, and the rows of tiles that are left.
func cut(rows, tile, together int) (whole int, rest []int) {
	whole = rows / (tile * together)
	for left := rows % (tile * together); left > 0; left -= tile {
		rest = append(rest, min(left, tile))
	}
	return whole, rest
}
