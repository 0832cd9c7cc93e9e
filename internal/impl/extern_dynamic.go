package impl

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A tally counts in a register what a kernel finds. Where the next thing goes depends on all before it, so that one
// worker does all.
type tally struct{ cell *loop.Buffer }

func newTally() tally { return tally{register("found", types.I64, 1)} }

// next runs body with the count so far, and counts.
func (t tally) next(body func(n expr.Expr) loop.Stmt) loop.Stmt {
	return bind("n", get(t.cell, num(0)), func(n expr.Expr) loop.Stmt {
		return do(body(n), set(t.cell, expr.Add(n, num(1)), num(0)))
	})
}

// within counts in body and then runs end with the sum.
func (t tally) within(body loop.Stmt, end func(n expr.Expr) loop.Stmt) loop.Stmt {
	return with(do(set(t.cell, num(0), num(0)), body, bind("sum", get(t.cell, num(0)), end)), t.cell)
}

// clear stores zeros in [from, end).
func clear(y *loop.Buffer, from, end expr.Expr) loop.Stmt {
	return loopOver(loop.Serial, "rest", from, expr.Sub(end, from), func(i expr.Expr) loop.Stmt {
		return set(y, expr.Const(y.DType.Compute(), 0), i)
	})
}

// argWhere walks the elements in order and writes the coordinates of those that are not 0.
func argWhere(_ any, in, out []types.Tensor) (*loop.Func, error) {
	rank := in[0].Rank()
	data, y, count := param("data", in[0].DType, in[0].Elements()), param("y", types.I64, out[0].Elements()), param("count", types.I64)
	t := newTally()
	body := eachPlace(in[0].Shape, nil, func(at []expr.Expr) loop.Stmt {
		x := get(data, offset(in[0].Shape, at))
		return when(expr.CastTo(types.Bool, x), t.next(func(n expr.Expr) loop.Stmt {
			var list []loop.Stmt
			for k, i := range at {
				list = append(list, set(y, i, expr.Add(expr.Mul(n, num(rank)), num(k))))
			}
			return do(list...)
		}))
	})
	end := func(n expr.Expr) loop.Stmt {
		return do(set(count, n), clear(y, expr.Mul(n, num(rank)), num(out[0].Elements())))
	}
	return &loop.Func{Name: "argwhere", Params: []*loop.Buffer{data, y, count}, Body: t.within(body, end)}, nil
}

// compress copies the slices whose condition holds.
func compress(attrs any, in, out []types.Tensor) (*loop.Func, error) {
	outer, n, inner := around(in[0].Shape, attrs.(ops.CompressAttrs).Axis)
	dt := moved(in[0].DType)
	data, condition := param("data", dt, in[0].Elements()), param("condition", types.Bool, in[1].Elements())
	y, count := param("y", dt, in[0].Elements()), param("count", types.I64)
	place := func(o, j expr.Expr) expr.Expr { return expr.Mul(expr.Add(expr.Mul(o, num(n)), j), num(inner)) }
	t := newTally()
	body := each("j", num(min(n, in[1].Elements())), func(j expr.Expr) loop.Stmt {
		return when(get(condition, j), t.next(func(k expr.Expr) loop.Stmt {
			return each("o", num(outer), func(o expr.Expr) loop.Stmt {
				return run("i", dt, inner, func(i expr.Expr) loop.Stmt {
					return set(y, get(data, expr.Add(place(o, j), i)), expr.Add(place(o, k), i))
				})
			})
		}))
	})
	end := func(k expr.Expr) loop.Stmt {
		return do(set(count, k), each("o", num(outer), func(o expr.Expr) loop.Stmt { return clear(y, place(o, k), place(o, num(n))) }))
	}
	return &loop.Func{Name: "compress", Params: []*loop.Buffer{data, condition, y, count}, Body: t.within(body, end)}, nil
}

// dynamicPack moves the rows together.
func dynamicPack(attrs any, in, out []types.Tensor) (*loop.Func, error) {
	outer, n, inner := around(in[0].Shape, attrs.(ops.PackAttrs).Axis)
	dt := moved(in[0].DType)
	data, count, y := param("data", dt, in[0].Elements()), param("count", types.I64), param("y", dt, in[0].Elements())
	body := bind("given", get(count), func(k expr.Expr) loop.Stmt {
		return bind("row", expr.Mul(expr.Max(expr.Min(k, num(n)), num(0)), num(inner)), func(row expr.Expr) loop.Stmt {
			return do(each("o", num(outer), func(o expr.Expr) loop.Stmt {
				return each("i", row, func(i expr.Expr) loop.Stmt {
					return set(y, get(data, expr.Add(expr.Mul(o, num(n*inner)), i)), expr.Add(expr.Mul(o, row), i))
				})
			}), clear(y, expr.Mul(num(outer), row), num(in[0].Elements())))
		})
	})
	return &loop.Func{Name: "dynamic_pack", Params: []*loop.Buffer{data, count, y}, Body: body}, nil
}
