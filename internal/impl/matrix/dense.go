package matrix

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/types"
)

// dense multiplies rows of data by a constant matrix, which lies in panels for dot products: [columns/panel][depth/4][panel][4]. Rows of both are filled up to whole ones with zeros. A piece of
// work is a panel and a block of rows; those that L2 holds meet one panel after the other.
//
//	parallel (blocks of rows, panels) { rows }
func dense(a impl.Anchor) (*impl.Plan, error) {
	set := a.Target.Tiles()
	if set == nil || a.Point["algorithm"] != impl.Matrix {
		return nil, nil
	}
	x, w, y := a.In[0], a.In[2], a.Out[0]
	p := &product{Anchor: a, tileRows: set.Rows, lanes: set.RowBytes / 4, panel: impl.PanelOf(a.Point), columns: w.Shape[1]}
	depth := impl.DotDepth(w.Shape[0], expr.DotWidth)
	p.depth = step(depth, set.RowBytes/expr.DotWidth)
	if p.panel == 0 || p.depth == 0 || x.Layout != impl.DotRows(x.Shape, impl.DotWidth) || y.Layout != "" || w.Layout != impl.DotPanels(p.panel*p.lanes, impl.DotWidth) || !a.Stores(y.Shape) {
		return nil, nil
	}
	total := y.Elements() / p.columns
	data := build.Param("data", x.DType, total, depth)
	weight := build.Param("weight", w.DType, w.Dims()...)
	p.steps, p.weights = depth/expr.DotWidth/p.depth, weight
	p.loops = []stepLoop{{"s", p.steps}}
	p.number = func(step []expr.Expr) expr.Expr { return step[0] }
	group := func(k expr.Expr, step []expr.Expr) expr.Expr {
		return expr.Add(expr.Mul(step[0], expr.Index(p.depth)), k)
	}
	p.data = func(row, k expr.Expr, step []expr.Expr) operand {
		return operand{data, []expr.Expr{row, expr.Mul(group(k, step), expr.Index(expr.DotWidth))}, 1}
	}
	p.weight = func(panel, column, k expr.Expr, step []expr.Expr) operand {
		return operand{weight, []expr.Expr{panel, group(k, step), column, expr.Index(0)}, 3}
	}
	p.result = func(row expr.Expr, body func(place func(column expr.Expr) []expr.Expr) loop.Stmt) loop.Stmt {
		return body(func(column expr.Expr) []expr.Expr { return append(split(row, y.Shape[:len(y.Shape)-1]), column) })
	}
	panels := weight.Shape[0]
	blocks, size := p.decideBlocks(total, depth, panels)
	p.decideParts(rowsBy(size, p.columns, depth))
	p.decideEpilogue()
	body := impl.Divided("part", blocks*panels, func(part expr.Expr) loop.Stmt {
		return build.Bind("panel", expr.Bin(expr.OpFloorMod, part, expr.Index(panels)), func(panel expr.Expr) loop.Stmt {
			if blocks == 1 {
				return p.rows(panel, expr.Index(0), total)
			}
			return build.Bind("first", expr.Mul(expr.Bin(expr.OpFloorDiv, part, expr.Index(panels)), expr.Index(size)), func(first expr.Expr) loop.Stmt {
				if total%size == 0 {
					return p.rows(panel, first, size)
				}
				return &loop.If{Cond: expr.LE(first, expr.Index(total-size)), Then: p.rows(panel, first, size), Else: p.rows(panel, expr.Index(total-total%size), total%size)}
			})
		})
	})
	home := p.columns
	if blocks > 1 {
		home = impl.Scattered
	}
	operands := []*loop.Buffer{data, zeroOf("data_zero", a.In[1]), weight, zeroOf("weight_zero", a.In[3])}
	what := fmt.Sprintf("tiles of %d x %d, %d x %d of them, steps of %d", p.tileRows, p.lanes, rowTiles(p.panel), p.panel, p.depth*expr.DotWidth)
	work := 2 * float64(total) * float64(p.columns) * float64(depth)
	return planned(a, what, a.Function(body, operands...), work, home), nil
}

// zeroOf is the parameter of a zero point, which is 0.
func zeroOf(name string, t types.Tensor) *loop.Buffer { return build.Param(name, t.DType, t.Dims()...) }

// split is the place of an element of a plain tensor by its number.
func split(at expr.Expr, shape []int) []expr.Expr {
	var index []expr.Expr
	for i := len(shape) - 1; i > 0; i-- {
		n := expr.Index(shape[i])
		if types.Count(shape[:i]) == 1 {
			index = append(index, at)
			at = expr.Index(0)
			continue
		}
		index = append(index, expr.Bin(expr.OpFloorMod, at, n))
		at = expr.Bin(expr.OpFloorDiv, at, n)
	}
	index = append(index, at)
	slices.Reverse(index)
	return index
}

// decideBlocks asks into how many blocks rows of so many bytes are cut, and gives the rows of a block: whole ones of the product's. Weights are read again for each block. Data
// that L2 does not hold are read again for each panel, and where lines of the result are whole pages apart, those of a panel fall on few sets of L2 and take as much of
// it as whole rows would.
func (p *product) decideBlocks(rows, bytes, panels int) (blocks, size int) {
	c := impl.Core{Target: p.Target}
	set := c.Tiles()
	each := p.tileRows * rowTiles(p.panel)
	most := (rows + each - 1) / each
	of := func(blocks int) int { return (most + blocks - 1) / blocks * each }
	weights := panels * p.panel * p.lanes * bytes
	result := p.Out[0].DType.Size() * p.columns
	if span := c.ISA().SetSpan; span == 0 || result%span != 0 {
		result = 0
	}
	products := float64(rows) / float64(p.tileRows) * float64(panels*p.panel*p.steps*set.ProductCycles)
	cost := func(blocks int) float64 {
		size := min(of(blocks), rows)
		blocks = (rows + size - 1) / size
		pieces := blocks * panels
		cycles := c.Together(pieces, products/float64(pieces), lastShare) + float64(blocks)*c.Again(float64(weights), weights)
		if size*bytes+2*weights/panels > impl.Working(c.L2) { // beside the panel in use and the next
			cycles += c.Again(float64(rows*bytes)*float64(panels), rows*bytes)
		}
		if size*result > impl.Working(c.L2) {
			lines := (p.panel*p.lanes*p.Out[0].DType.Size() + loop.LineBytes - 1) / loop.LineBytes
			cycles += float64(rows*panels*lines) * crowdedLine
		}
		return cycles
	}
	counts := impl.UpTo(most)
	best := counts[0]
	for _, n := range counts {
		if cost(n) < cost(best) {
			best = n
		}
	}
	blocks = p.DecideAmong("blocks", best, cost, counts...)
	size = of(blocks)
	return (rows + size - 1) / size, min(size, rows)
}

// planned is the kernel of so many products by registers of matrices, which take less time than the multiply-adds of float32 by which chunks are counted.
func planned(a impl.Anchor, what string, f *loop.Func, work float64, home int) *impl.Plan {
	p := a.Plan(impl.Matrix, what, f, work, home)
	if s := a.Target.Speed(); s.Tiles > 0 {
		p.Flops *= s.Float32 / s.Tiles
	}
	return p
}
