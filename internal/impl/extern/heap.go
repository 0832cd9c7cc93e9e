package extern

import (
	"math/bits"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/types"
)

// A heap keeps elements by key and place such that no child is worse than its parent. Of equal keys the greater place is
// the worse.
type heap struct {
	keys, places *loop.Buffer // of several heaps beside each other
	k            int
	row          expr.Expr // which of them it is
}

func (h heap) key(at expr.Expr) expr.Expr   { return build.Get(h.keys, at, h.row) }
func (h heap) place(at expr.Expr) expr.Expr { return build.Get(h.places, at, h.row) }

func (h heap) put(at, key, place expr.Expr) loop.Stmt {
	return build.Do(build.Set(h.keys, key, at, h.row), build.Set(h.places, place, at, h.row))
}

// entry binds the key and the place at a position.
func (h heap) entry(at expr.Expr, body func(key, place expr.Expr) loop.Stmt) loop.Stmt {
	return build.Bind("key", h.key(at), func(key expr.Expr) loop.Stmt {
		return build.Bind("place", h.place(at), func(place expr.Expr) loop.Stmt { return body(key, place) })
	})
}

func worse(key, place, otherKey, otherPlace expr.Expr) expr.Expr {
	return expr.Or(expr.LT(key, otherKey), expr.And(expr.EQ(key, otherKey), expr.LT(otherPlace, place)))
}

// sink puts an element at a position of the heap's first size entries, and moves worse children up until it fits. Once it
// fits, the steps left find no worse child.
func (h heap) sink(from, size, key, place expr.Expr) loop.Stmt {
	return h.sinkBy(expr.Index(h.levels()), from, size, key, place)
}

// sinkBy is sink by so many levels at most.
func (h heap) sinkBy(levels, from, size, key, place expr.Expr) loop.Stmt {
	at := build.Register("at", types.I64, 1)
	step := func(p expr.Expr) loop.Stmt {
		return build.Bind("left", expr.Add(expr.Mul(p, expr.Index(2)), expr.Index(1)), func(l expr.Expr) loop.Stmt {
			return build.When(expr.LT(l, size), build.Bind("right", expr.Min(expr.Add(l, expr.Index(1)), expr.Sub(size, expr.Index(1))), func(r expr.Expr) loop.Stmt {
				return h.entry(l, func(lk, lp expr.Expr) loop.Stmt {
					return h.entry(r, func(rk, rp expr.Expr) loop.Stmt {
						return build.Bind("right_worse", worse(rk, rp, lk, lp), func(c expr.Expr) loop.Stmt {
							return build.Bind("child_key", expr.If(c, rk, lk), func(ck expr.Expr) loop.Stmt {
								return build.Bind("child_place", expr.If(c, rp, lp), func(cp expr.Expr) loop.Stmt {
									return build.When(worse(ck, cp, key, place), h.put(p, ck, cp), build.Set(at, expr.If(c, r, l), expr.Index(0)))
								})
							})
						})
					})
				})
			}))
		})
	}
	return build.With(build.Do(
		build.Set(at, from, expr.Index(0)),
		build.Each("level", levels, func(expr.Expr) loop.Stmt {
			return build.Bind("p", build.Get(at, expr.Index(0)), step)
		}),
		build.Bind("p", build.Get(at, expr.Index(0)), func(p expr.Expr) loop.Stmt { return h.put(p, key, place) }),
	), at)
}

// levels is the number of levels below the root of a heap of k entries.
func (h heap) levels() int { return bits.Len(uint(h.k)) - 1 }

// build orders the first size entries, which lie in any order: parents of the lowest level first, each of which sinks as far as
// there are levels below it.
func (h heap) build(size expr.Expr) loop.Stmt {
	half, one := expr.Bin(expr.OpFloorDiv, size, expr.Index(2)), expr.Index(1)
	return build.Each("below", expr.Index(h.levels()), func(below expr.Expr) loop.Stmt {
		first := expr.Sub(expr.Bin(expr.OpShl, one, expr.Sub(expr.Index(h.levels()-1), below)), one)
		return build.Bind("first", first, func(first expr.Expr) loop.Stmt {
			end := expr.Min(expr.Add(expr.Mul(first, expr.Index(2)), one), half)
			return build.Loop(loop.Serial, "parent", first, expr.Sub(end, first), func(p expr.Expr) loop.Stmt {
				return h.entry(p, func(key, place expr.Expr) loop.Stmt { return h.sinkBy(expr.Add(below, one), p, size, key, place) })
			})
		})
	})
}

// drop takes the root away from a heap, of which so many entries are left.
func (h heap) drop(left expr.Expr) loop.Stmt {
	return h.entry(left, func(key, place expr.Expr) loop.Stmt { return h.sink(expr.Index(0), left, key, place) })
}

// drain sorts a heap of the first size entries: the best one comes first.
func (h heap) drain(size expr.Expr) loop.Stmt {
	return build.Each("d", expr.Max(expr.Sub(size, expr.Index(1)), expr.Index(0)), func(d expr.Expr) loop.Stmt {
		return build.Bind("last", expr.Sub(expr.Sub(size, expr.Index(1)), d), func(last expr.Expr) loop.Stmt {
			return h.entry(last, func(key, place expr.Expr) loop.Stmt {
				return build.Do(
					h.entry(expr.Index(0), func(wk, wp expr.Expr) loop.Stmt { return h.put(last, wk, wp) }),
					h.sink(expr.Index(0), last, key, place),
				)
			})
		})
	})
}
