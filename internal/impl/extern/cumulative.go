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
// that lie beside each other are walked together, a vector of them at a time. Totals of floats are F64, whose rounding
// does not show in long rows of narrower types.
func cumulative(combine expr.Op, identity float64) func(any, []types.Tensor, []types.Tensor) (*loop.Func, error) {
	return func(attrs any, in, out []types.Tensor) (*loop.Func, error) {
		outer, n, inner := around(in[0].Shape, attrs.(ops.CumulativeAttrs).Axis)
		w := cumulation{
			CumulativeAttrs: attrs.(ops.CumulativeAttrs), n: n, combine: combine, total: in[0].DType,
			x: build.Param("x", in[0].DType, outer, n, inner), y: build.Param("y", out[0].DType, outer, n, inner),
		}
		if w.total.IsFloat() {
			w.total = types.F64
		}
		w.identity = expr.Const(w.total, identity)
		// Totals of a vector must stay in a register or two.
		lanes := max(4, 64/w.total.Size())
		work := 2 * float64(in[0].Elements())
		whole := impl.Divided("column", outer*(inner/lanes), work, func(c expr.Expr) loop.Stmt {
			o, first := expr.Bin(expr.OpFloorDiv, c, expr.Index(inner/lanes)), expr.Bin(expr.OpFloorMod, c, expr.Index(inner/lanes))
			return w.walk(o, expr.Mul(first, expr.Index(lanes)), lanes)
		})
		rest := impl.Divided("row", outer, work, func(o expr.Expr) loop.Stmt { return w.walk(o, expr.Index(inner-inner%lanes), inner%lanes) })
		body := whole
		switch {
		case inner < lanes:
			body = rest
		case inner%lanes > 0:
			body = build.Do(whole, rest)
		}
		return &loop.Func{Name: "cumulative", Params: []*loop.Buffer{w.x, w.y}, Body: body}, nil
	}
}

type cumulation struct {
	ops.CumulativeAttrs
	n        int
	x, y     *loop.Buffer
	combine  expr.Op
	total    types.DType
	identity expr.Expr
}

// walk computes the columns [first, first+lanes) of row block o.
func (w cumulation) walk(o, first expr.Expr, lanes int) loop.Stmt {
	total := build.Register("total", w.total, lanes)
	all := func(f func(lane, column expr.Expr) loop.Stmt) loop.Stmt {
		if lanes == 1 {
			return f(expr.Index(0), first)
		}
		return build.Loop(loop.Vector, "v", expr.Index(0), expr.Index(lanes), func(v expr.Expr) loop.Stmt { return f(v, expr.Add(first, v)) })
	}
	step := func(k expr.Expr) loop.Stmt {
		if w.Reverse {
			k = expr.Sub(expr.Index(w.n-1), k)
		}
		return all(func(lane, column expr.Expr) loop.Stmt {
			add := build.Set(total, expr.Bin(w.combine, build.Get(total, lane), expr.CastTo(w.total, build.Get(w.x, o, k, column))), lane)
			give := build.Set(w.y, expr.CastTo(w.y.DType.Compute(), build.Get(total, lane)), o, k, column)
			if w.Exclusive {
				return build.Do(give, add)
			}
			return build.Do(add, give)
		})
	}
	start := all(func(lane, _ expr.Expr) loop.Stmt { return build.Set(total, w.identity, lane) })
	return build.With(build.Do(start, build.Each("k", expr.Index(w.n), step)), total)
}
