package impl

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
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
			x: param("x", in[0].DType, outer, n, inner), y: param("y", out[0].DType, outer, n, inner),
		}
		if w.total.IsFloat() {
			w.total = types.F64
		}
		w.identity = expr.Const(w.total, identity)
		// Totals of a vector must stay in a register or two.
		lanes := max(4, 64/w.total.Size())
		work := 2 * float64(in[0].Elements())
		whole := divided("column", outer*(inner/lanes), work, func(c expr.Expr) loop.Stmt {
			o, first := expr.Bin(expr.OpFloorDiv, c, num(inner/lanes)), expr.Bin(expr.OpFloorMod, c, num(inner/lanes))
			return w.walk(o, expr.Mul(first, num(lanes)), lanes)
		})
		rest := divided("row", outer, work, func(o expr.Expr) loop.Stmt { return w.walk(o, num(inner-inner%lanes), inner%lanes) })
		body := whole
		switch {
		case inner < lanes:
			body = rest
		case inner%lanes > 0:
			body = do(whole, rest)
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
	total := register("total", w.total, lanes)
	all := func(f func(lane, column expr.Expr) loop.Stmt) loop.Stmt {
		if lanes == 1 {
			return f(num(0), first)
		}
		return loopOver(loop.Vector, "v", num(0), num(lanes), func(v expr.Expr) loop.Stmt { return f(v, expr.Add(first, v)) })
	}
	step := func(k expr.Expr) loop.Stmt {
		if w.Reverse {
			k = expr.Sub(num(w.n-1), k)
		}
		return all(func(lane, column expr.Expr) loop.Stmt {
			add := set(total, expr.Bin(w.combine, get(total, lane), expr.CastTo(w.total, get(w.x, o, k, column))), lane)
			give := set(w.y, expr.CastTo(w.y.DType.Compute(), get(total, lane)), o, k, column)
			if w.Exclusive {
				return do(give, add)
			}
			return do(add, give)
		})
	}
	start := all(func(lane, _ expr.Expr) loop.Stmt { return set(total, w.identity, lane) })
	return with(do(start, each("k", num(w.n), step)), total)
}
