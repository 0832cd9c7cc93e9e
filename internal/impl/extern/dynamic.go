package extern

import (
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// A tally counts in a register what a kernel finds. Where the next thing goes depends on all before it, so that one
// worker does all.
type tally struct{ cell *loop.Buffer }

func newTally() tally { return tally{build.Register("found", types.I64, 1)} }

// next runs body with the count so far, and counts.
func (t tally) next(body func(n expr.Expr) loop.Stmt) loop.Stmt {
	return build.Bind("n", build.Get(t.cell, expr.Index(0)), func(n expr.Expr) loop.Stmt {
		return build.Do(body(n), build.Set(t.cell, expr.Add(n, expr.Index(1)), expr.Index(0)))
	})
}

// within counts in body and then runs end with the sum.
func (t tally) within(body loop.Stmt, end func(n expr.Expr) loop.Stmt) loop.Stmt {
	return build.With(build.Do(build.Set(t.cell, expr.Index(0), expr.Index(0)), body, build.Bind("sum", build.Get(t.cell, expr.Index(0)), end)), t.cell)
}

// clear stores zeros in [from, end).
func clear(y *loop.Buffer, from, end expr.Expr) loop.Stmt {
	return build.Loop(loop.Serial, "rest", from, expr.Sub(end, from), func(i expr.Expr) loop.Stmt {
		return build.Set(y, expr.Const(y.DType.Compute(), 0), i)
	})
}

// argWhere walks the elements in order and writes the coordinates of those that are not 0.
func argWhere(c impl.Call) (*impl.Plan, error) {
	in, out := c.In, c.Out
	rank := in[0].Rank()
	data, y, count := build.Param("data", in[0].DType, in[0].Elements()), build.Param("y", types.I64, out[0].Elements()), build.Param("count", types.I64)
	t := newTally()
	body := eachPlace(in[0].Shape, nil, func(at []expr.Expr) loop.Stmt {
		x := build.Get(data, offset(in[0].Shape, at))
		return build.When(expr.CastTo(types.Bool, x), t.next(func(n expr.Expr) loop.Stmt {
			var list []loop.Stmt
			for k, i := range at {
				list = append(list, build.Set(y, i, expr.Add(expr.Mul(n, expr.Index(rank)), expr.Index(k))))
			}
			return build.Do(list...)
		}))
	})
	end := func(n expr.Expr) loop.Stmt {
		return build.Do(build.Set(count, n), clear(y, expr.Mul(n, expr.Index(rank)), expr.Index(out[0].Elements())))
	}
	return c.Plan(&loop.Func{Name: "argwhere", Params: []*loop.Buffer{data, y, count}, Body: t.within(body, end)}, 0), nil
}

// compress copies the slices whose condition holds.
func compress(c impl.Call) (*impl.Plan, error) {
	in := c.In
	outer, n, inner := around(in[0].Shape, c.Attrs.(ops.CompressAttrs).Axis)
	dt := moved(in[0].DType)
	data, condition := build.Param("data", dt, in[0].Elements()), build.Param("condition", types.Bool, in[1].Elements())
	y, count := build.Param("y", dt, in[0].Elements()), build.Param("count", types.I64)
	place := func(o, j expr.Expr) expr.Expr {
		return expr.Mul(expr.Add(expr.Mul(o, expr.Index(n)), j), expr.Index(inner))
	}
	t := newTally()
	body := build.Each("j", expr.Index(min(n, in[1].Elements())), func(j expr.Expr) loop.Stmt {
		return build.When(build.Get(condition, j), t.next(func(k expr.Expr) loop.Stmt {
			return build.Each("o", expr.Index(outer), func(o expr.Expr) loop.Stmt {
				return build.Run("i", dt, inner, func(i expr.Expr) loop.Stmt {
					return build.Set(y, build.Get(data, expr.Add(place(o, j), i)), expr.Add(place(o, k), i))
				})
			})
		}))
	})
	end := func(k expr.Expr) loop.Stmt {
		return build.Do(build.Set(count, k), build.Each("o", expr.Index(outer), func(o expr.Expr) loop.Stmt { return clear(y, place(o, k), place(o, expr.Index(n))) }))
	}
	return c.Plan(&loop.Func{Name: "compress", Params: []*loop.Buffer{data, condition, y, count}, Body: t.within(body, end)}, 0), nil
}

// dynamicPack moves the rows together.
func dynamicPack(c impl.Call) (*impl.Plan, error) {
	in := c.In
	outer, n, inner := around(in[0].Shape, c.Attrs.(ops.PackAttrs).Axis)
	dt := moved(in[0].DType)
	data, count, y := build.Param("data", dt, in[0].Elements()), build.Param("count", types.I64), build.Param("y", dt, in[0].Elements())
	body := build.Bind("given", build.Get(count), func(k expr.Expr) loop.Stmt {
		return build.Bind("row", expr.Mul(expr.Max(expr.Min(k, expr.Index(n)), expr.Index(0)), expr.Index(inner)), func(row expr.Expr) loop.Stmt {
			return build.Do(build.Each("o", expr.Index(outer), func(o expr.Expr) loop.Stmt {
				return build.Each("i", row, func(i expr.Expr) loop.Stmt {
					return build.Set(y, build.Get(data, expr.Add(expr.Mul(o, expr.Index(n*inner)), i)), expr.Add(expr.Mul(o, row), i))
				})
			}), clear(y, expr.Mul(expr.Index(outer), row), expr.Index(in[0].Elements())))
		})
	})
	return c.Plan(&loop.Func{Name: "dynamic_pack", Params: []*loop.Buffer{data, count, y}, Body: body}, 0), nil
}
