package extern

import (
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// cumulative walks each row once with a running total: linear where the operator's tensor expression is quadratic. Rows
// that lie beside each other are walked together, a few vectors of them at a time. Totals of floats are F64, whose rounding
// does not show in long rows of narrower types.
func cumulative(combine expr.Op, identity float64) func(impl.Call) (*impl.Plan, error) {
	return func(c impl.Call) (*impl.Plan, error) {
		in, out := c.In, c.Out
		outer, n, inner := around(in[0].Shape, c.Attrs.(ops.CumulativeAttrs).Axis)
		w := cumulation{
			CumulativeAttrs: c.Attrs.(ops.CumulativeAttrs), n: n, combine: combine, total: in[0].DType,
			x: build.Param("x", in[0].DType, outer, n, inner), y: build.Param("y", out[0].DType, outer, n, inner),
		}
		if w.total.IsFloat() {
			w.total = types.F64
		}
		w.identity = expr.Const(w.total, identity)
		w.lanes = max(4, 64/w.total.Size())
		if inner > 1 {
			w.lanes = c.DecideAmong("lanes", w.lanes, nil, impl.Powers(w.lanes)...)
		}
		columns := 1
		if vectors := (inner + w.lanes - 1) / w.lanes; vectors > 1 {
			most := min(columnVectors, vectors)
			columns = c.DecideAmong("columns", most, nil, impl.Powers(most)...)
		}
		work := 2 * float64(in[0].Elements())
		var parts []loop.Stmt
		wide := columns * w.lanes // the columns of a walk, of which the last has what is left
		whole, rest := inner/wide, inner%wide
		if whole > 0 {
			parts = append(parts, impl.DividedPairs("columns", outer, whole, func(o, i expr.Expr) loop.Stmt {
				return w.walk(o, expr.Mul(i, expr.Index(wide)), wide)
			}))
		}
		if rest > 0 {
			parts = append(parts, impl.Divided("columns", outer, func(o expr.Expr) loop.Stmt { return w.walk(o, expr.Index(whole*wide), rest) }))
		}
		body := build.Do(parts...)
		if len(parts) == 1 {
			body = parts[0]
		}
		return c.Plan(&loop.Func{Name: "cumulative", Params: []*loop.Buffer{w.x, w.y}, Body: body}, work), nil
	}
}

type cumulation struct {
	ops.CumulativeAttrs
	n        int
	x, y     *loop.Buffer
	combine  expr.Op
	total    types.DType
	identity expr.Expr
	lanes    int
}

// walk computes the columns [first, first+wide) of row block o, by vectors.
func (w cumulation) walk(o, first expr.Expr, wide int) loop.Stmt {
	var totals []*loop.Buffer
	var starts []loop.Stmt
	for at := 0; at < wide; at += w.lanes {
		t := build.Register("total", w.total, min(w.lanes, wide-at))
		totals = append(totals, t)
		starts = append(starts, lanesOf(t, func(lane expr.Expr) loop.Stmt { return build.Set(t, w.identity, lane) }))
	}
	step := func(k expr.Expr) loop.Stmt {
		if w.Reverse {
			k = expr.Sub(expr.Index(w.n-1), k)
		}
		var list []loop.Stmt
		for u, t := range totals {
			list = append(list, lanesOf(t, func(lane expr.Expr) loop.Stmt {
				column := expr.Add(expr.Add(first, expr.Index(u*w.lanes)), lane)
				add := build.Set(t, expr.Bin(w.combine, build.Get(t, lane), expr.CastTo(w.total, build.Get(w.x, o, k, column))), lane)
				give := build.Set(w.y, expr.CastTo(w.y.DType.Compute(), build.Get(t, lane)), o, k, column)
				if w.Exclusive {
					return build.Do(give, add)
				}
				return build.Do(add, give)
			}))
		}
		return build.Do(list...)
	}
	return build.With(build.Do(append(starts, build.Each("k", expr.Index(w.n), step))...), totals...)
}

// lanesOf does something for each lane of a register.
func lanesOf(b *loop.Buffer, f func(lane expr.Expr) loop.Stmt) loop.Stmt {
	n := b.Shape[0]
	if n == 1 {
		return f(expr.Index(0))
	}
	return build.Loop(loop.Vector, "v", expr.Index(0), expr.Index(n), f)
}
