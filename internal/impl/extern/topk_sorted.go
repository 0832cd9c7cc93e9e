package extern

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/types"
)

// sorted selects from the rows [first, first+wide) that lie beside each other, each in a lane, and keeps the best elements so far in
// order.
func (s selection) sorted(o, first expr.Expr, wide int) loop.Stmt {
	zero := expr.Index(0)
	key := func(j, v expr.Expr) expr.Expr {
		return orderedKey(build.Get(s.data, o, j, expr.Add(first, v)), s.Largest)
	}
	lanes := func(f func(v expr.Expr) loop.Stmt) loop.Stmt {
		return build.Loop(loop.Vector, "v", zero, expr.Index(wide), f)
	}
	t := key(zero, zero).DType()
	b := best{
		keys: build.Scratch("keys", t, s.K, wide), places: build.Scratch("places", types.I64, s.K, wide),
		key: build.Register("key", t, wide), k: s.K, lanes: lanes,
	}
	next := func(j expr.Expr, then func() loop.Stmt) loop.Stmt {
		load := lanes(func(v expr.Expr) loop.Stmt { return build.Set(b.key, key(j, v), v) })
		return build.Do(load, then())
	}
	zeros := build.Each("z", expr.Index(s.K), func(i expr.Expr) loop.Stmt {
		return lanes(func(v expr.Expr) loop.Stmt {
			return build.Do(build.Set(b.keys, expr.Const(t, 0), i, v), build.Set(b.places, expr.Index(0), i, v))
		})
	})
	fill := build.Each("f", expr.Index(s.K), func(j expr.Expr) loop.Stmt {
		return next(j, func() loop.Stmt { return b.insert(j, func(i expr.Expr) expr.Expr { return expr.GE(i, j) }) })
	})
	bit := func(v int64) expr.Expr { return &expr.Int{V: v, Type: types.I32} }
	scan := build.Loop(loop.Serial, "j", expr.Index(s.K), expr.Index(s.n-s.K), func(j expr.Expr) loop.Stmt {
		better := build.Register("better", types.I32, 1)
		return next(j, func() loop.Stmt {
			return build.With(build.Do(
				build.Set(better, bit(0), zero),
				lanes(func(v expr.Expr) loop.Stmt {
					is := expr.If(expr.LT(build.Get(b.keys, expr.Index(s.K-1), v), build.Get(b.key, v)), bit(1), bit(0))
					return build.Set(better, expr.Max(build.Get(better, zero), is), zero)
				}),
				build.Bind("any", build.Get(better, zero), func(any expr.Expr) loop.Stmt {
					return build.When(expr.LT(bit(0), any), b.insert(j, nil))
				}),
			), better)
		})
	})
	end := build.Each("w", expr.Index(s.K), func(w expr.Expr) loop.Stmt {
		return build.Each("c", expr.Index(wide), func(c expr.Expr) loop.Stmt {
			return build.Bind("place", build.Get(b.places, w, c), func(p expr.Expr) loop.Stmt {
				at := expr.Add(first, c)
				return build.Do(build.Set(s.values, build.Get(s.data, o, p, at), o, w, at), build.Set(s.indices, p, o, w, at))
			})
		})
	})
	return build.With(build.Do(zeros, fill, scan, end), b.key, b.places, b.keys)
}

// best holds the k best elements of rows, the best one first, and the key of the next one.
type best struct {
	keys, places, key *loop.Buffer
	k                 int
	lanes             func(func(v expr.Expr) loop.Stmt) loop.Stmt
}

// insert puts element j of each row among its best ones behind those that are as good, from the last place on. Places for which
// empty holds, which may be nil, hold nothing yet.
func (b best) insert(j expr.Expr, empty func(i expr.Expr) expr.Expr) loop.Stmt {
	put := func(i expr.Expr, first bool) loop.Stmt {
		return b.lanes(func(v expr.Expr) loop.Stmt {
			x := build.Get(b.key, v)
			worse := func(i expr.Expr) expr.Expr {
				c := expr.LT(build.Get(b.keys, i, v), x)
				if empty != nil {
					c = expr.Or(empty(i), c)
				}
				return c
			}
			key, place := x, j
			if before := expr.Sub(i, expr.Index(1)); !first {
				key = expr.If(worse(before), build.Get(b.keys, before, v), x)
				place = expr.If(worse(before), build.Get(b.places, before, v), j)
			}
			return build.Bind("worse", worse(i), func(c expr.Expr) loop.Stmt {
				return build.Do(
					build.Set(b.places, expr.If(c, place, build.Get(b.places, i, v)), i, v),
					build.Set(b.keys, expr.If(c, key, build.Get(b.keys, i, v)), i, v),
				)
			})
		})
	}
	move := build.Each("i", expr.Index(b.k-1), func(i expr.Expr) loop.Stmt { return put(expr.Sub(expr.Index(b.k-1), i), false) })
	return build.Do(move, put(expr.Index(0), true))
}
