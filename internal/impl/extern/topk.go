package extern

import (
	"math"
	"math/bits"

	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// topK selects with a heap of the k best elements so far, the worst of them at its root: an element that is no better
// costs one comparison, a better one sinks in log k steps. Draining the heap from the worst on sorts it, so that k = n is
// a heap sort. Rows are independent.
func topK(attrs any, in, out []types.Tensor) (*loop.Func, error) {
	a := attrs.(ops.TopKAttrs)
	outer, n, inner := around(in[0].Shape, a.Axis)
	data := build.Param("data", in[0].DType, outer, n, inner)
	values, indices := build.Param("values", out[0].DType, outer, a.K, inner), build.Param("indices", types.I64, outer, a.K, inner)
	h := heap{build.Scratch("keys", types.I64, a.K), build.Scratch("places", types.I64, a.K), a.K}
	work := float64(outer*inner) * (4*float64(n) + 16*float64(a.K*bits.Len(uint(a.K))))
	row := func(r expr.Expr) loop.Stmt {
		o, i := expr.Bin(expr.OpFloorDiv, r, expr.Index(inner)), expr.Bin(expr.OpFloorMod, r, expr.Index(inner))
		key := func(j expr.Expr) expr.Expr { return orderedKey(build.Get(data, o, j, i), a.Largest) }
		body := build.Do(
			build.Each("f", expr.Index(a.K), func(j expr.Expr) loop.Stmt { return h.put(j, key(j), j) }),
			h.build(expr.Index(h.k)),
			build.Loop(loop.Serial, "j", expr.Index(a.K), expr.Index(n-a.K), func(j expr.Expr) loop.Stmt {
				return build.Bind("key", key(j), func(key expr.Expr) loop.Stmt {
					return build.Bind("worst", build.Get(h.keys, expr.Index(0)), func(worst expr.Expr) loop.Stmt {
						return build.When(expr.LT(worst, key), h.sink(expr.Index(0), expr.Index(a.K), key, j))
					})
				})
			}),
			h.drain(expr.Index(h.k)),
			build.Each("w", expr.Index(a.K), func(w expr.Expr) loop.Stmt {
				return build.Bind("place", build.Get(h.places, w), func(p expr.Expr) loop.Stmt {
					return build.Do(build.Set(values, build.Get(data, o, p, i), o, w, i), build.Set(indices, p, o, w, i))
				})
			}),
		)
		return build.With(body, h.places, h.keys)
	}
	return &loop.Func{Name: "topk", Params: []*loop.Buffer{data, values, indices}, Body: impl.Divided("row", outer*inner, work, row)}, nil
}

// orderedKey maps an element to an I64 that is greater the better the element is. NaN counts as greater than any number,
// zeros of both signs as equal.
func orderedKey(x expr.Expr, largest bool) expr.Expr {
	t := x.DType()
	switch {
	case t.IsFloat():
		x = floatKey(x)
	case t == types.U64:
		x = expr.Bin(expr.OpXor, expr.CastTo(types.I64, x), &expr.Int{V: math.MinInt64, Type: types.I64})
	}
	x = expr.CastTo(types.I64, x)
	if !largest {
		x = expr.Call(expr.FnNot, x)
	}
	return x
}

// floatKey is the pattern of a float with the order of numbers: negative ones have their other bits inverted.
func floatKey(x expr.Expr) expr.Expr {
	it := types.I32
	if x.DType() == types.F64 {
		it = types.I64
	}
	_, hi := it.IntRange()
	v := &expr.Var{Name: "x", Type: x.DType()}
	p := &expr.Var{Name: "pattern", Type: it}
	sign := expr.Bin(expr.OpShr, p, &expr.Int{V: int64(it.Bits() - 1), Type: it})
	key := expr.Expr(expr.Bin(expr.OpXor, p, expr.And(sign, &expr.Int{V: hi, Type: it})))
	key = expr.If(expr.Call(expr.FnIsNaN, v), &expr.Int{V: hi, Type: it}, key)
	zero := &expr.Float{V: 0, Type: x.DType()} // -0 + 0 is 0
	key = &expr.Let{Var: p, Value: &expr.Bits{To: it, A: expr.Add(v, zero)}, Body: key}
	return &expr.Let{Var: v, Value: x, Body: key}
}

// A heap keeps elements by key and place such that no child is worse than its parent. Of equal keys the greater place is
// the worse.
type heap struct {
	keys, places *loop.Buffer
	k            int
}

func (h heap) put(at, key, place expr.Expr) loop.Stmt {
	return build.Do(build.Set(h.keys, key, at), build.Set(h.places, place, at))
}

// entry binds the key and the place at a position.
func (h heap) entry(at expr.Expr, body func(key, place expr.Expr) loop.Stmt) loop.Stmt {
	return build.Bind("key", build.Get(h.keys, at), func(key expr.Expr) loop.Stmt {
		return build.Bind("place", build.Get(h.places, at), func(place expr.Expr) loop.Stmt { return body(key, place) })
	})
}

func worse(key, place, otherKey, otherPlace expr.Expr) expr.Expr {
	return expr.Or(expr.LT(key, otherKey), expr.And(expr.EQ(key, otherKey), expr.LT(otherPlace, place)))
}

// sink puts an element at a position of the heap's first size entries, and moves worse children up until it fits. Once it
// fits, the steps left find no worse child.
func (h heap) sink(from, size, key, place expr.Expr) loop.Stmt {
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
		build.Each("level", expr.Index(bits.Len(uint(h.k))-1), func(expr.Expr) loop.Stmt {
			return build.Bind("p", build.Get(at, expr.Index(0)), step)
		}),
		build.Bind("p", build.Get(at, expr.Index(0)), func(p expr.Expr) loop.Stmt { return h.put(p, key, place) }),
	), at)
}

// build orders the first size entries, which lie in any order.
func (h heap) build(size expr.Expr) loop.Stmt {
	half := expr.Bin(expr.OpFloorDiv, size, expr.Index(2))
	return build.Each("b", half, func(b expr.Expr) loop.Stmt {
		return build.Bind("parent", expr.Sub(expr.Sub(half, expr.Index(1)), b), func(p expr.Expr) loop.Stmt {
			return h.entry(p, func(key, place expr.Expr) loop.Stmt { return h.sink(p, size, key, place) })
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
