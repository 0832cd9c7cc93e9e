package impl

import (
	"math"
	"math/bits"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// topK selects with a heap of the k best elements so far, the worst of them at its root: an element that is no better
// costs one comparison, a better one sinks in log k steps. Draining the heap from the worst on sorts it, so that k = n is
// a heap sort. Rows are independent.
func topK(attrs any, in, out []types.Tensor) (*loop.Func, error) {
	a := attrs.(ops.TopKAttrs)
	outer, n, inner := around(in[0].Shape, a.Axis)
	data := param("data", in[0].DType, outer, n, inner)
	values, indices := param("values", out[0].DType, outer, a.K, inner), param("indices", types.I64, outer, a.K, inner)
	h := heap{scratch("keys", types.I64, a.K), scratch("places", types.I64, a.K), a.K}
	work := float64(outer*inner) * (4*float64(n) + 16*float64(a.K*bits.Len(uint(a.K))))
	row := func(r expr.Expr) loop.Stmt {
		o, i := expr.Bin(expr.OpFloorDiv, r, num(inner)), expr.Bin(expr.OpFloorMod, r, num(inner))
		key := func(j expr.Expr) expr.Expr { return orderedKey(get(data, o, j, i), a.Largest) }
		body := do(
			each("f", num(a.K), func(j expr.Expr) loop.Stmt { return h.put(j, key(j), j) }),
			h.build(num(h.k)),
			loopOver(loop.Serial, "j", num(a.K), num(n-a.K), func(j expr.Expr) loop.Stmt {
				return bind("key", key(j), func(key expr.Expr) loop.Stmt {
					return bind("worst", get(h.keys, num(0)), func(worst expr.Expr) loop.Stmt {
						return when(expr.LT(worst, key), h.sink(num(0), num(a.K), key, j))
					})
				})
			}),
			h.drain(num(h.k)),
			each("w", num(a.K), func(w expr.Expr) loop.Stmt {
				return bind("place", get(h.places, w), func(p expr.Expr) loop.Stmt {
					return do(set(values, get(data, o, p, i), o, w, i), set(indices, p, o, w, i))
				})
			}),
		)
		return with(body, h.places, h.keys)
	}
	return &loop.Func{Name: "topk", Params: []*loop.Buffer{data, values, indices}, Body: divided("row", outer*inner, work, row)}, nil
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
	return do(set(h.keys, key, at), set(h.places, place, at))
}

// entry binds the key and the place at a position.
func (h heap) entry(at expr.Expr, body func(key, place expr.Expr) loop.Stmt) loop.Stmt {
	return bind("key", get(h.keys, at), func(key expr.Expr) loop.Stmt {
		return bind("place", get(h.places, at), func(place expr.Expr) loop.Stmt { return body(key, place) })
	})
}

func worse(key, place, otherKey, otherPlace expr.Expr) expr.Expr {
	return expr.Or(expr.LT(key, otherKey), expr.And(expr.EQ(key, otherKey), expr.LT(otherPlace, place)))
}

// sink puts an element at a position of the heap's first size entries, and moves worse children up until it fits. Once it
// fits, the steps left find no worse child.
func (h heap) sink(from, size, key, place expr.Expr) loop.Stmt {
	at := register("at", types.I64, 1)
	step := func(p expr.Expr) loop.Stmt {
		return bind("left", expr.Add(expr.Mul(p, num(2)), num(1)), func(l expr.Expr) loop.Stmt {
			return when(expr.LT(l, size), bind("right", expr.Min(expr.Add(l, num(1)), expr.Sub(size, num(1))), func(r expr.Expr) loop.Stmt {
				return h.entry(l, func(lk, lp expr.Expr) loop.Stmt {
					return h.entry(r, func(rk, rp expr.Expr) loop.Stmt {
						return bind("right_worse", worse(rk, rp, lk, lp), func(c expr.Expr) loop.Stmt {
							return bind("child_key", expr.If(c, rk, lk), func(ck expr.Expr) loop.Stmt {
								return bind("child_place", expr.If(c, rp, lp), func(cp expr.Expr) loop.Stmt {
									return when(worse(ck, cp, key, place), h.put(p, ck, cp), set(at, expr.If(c, r, l), num(0)))
								})
							})
						})
					})
				})
			}))
		})
	}
	return with(do(
		set(at, from, num(0)),
		each("level", num(bits.Len(uint(h.k))-1), func(expr.Expr) loop.Stmt {
			return bind("p", get(at, num(0)), step)
		}),
		bind("p", get(at, num(0)), func(p expr.Expr) loop.Stmt { return h.put(p, key, place) }),
	), at)
}

// build orders the first size entries, which lie in any order.
func (h heap) build(size expr.Expr) loop.Stmt {
	half := expr.Bin(expr.OpFloorDiv, size, num(2))
	return each("b", half, func(b expr.Expr) loop.Stmt {
		return bind("parent", expr.Sub(expr.Sub(half, num(1)), b), func(p expr.Expr) loop.Stmt {
			return h.entry(p, func(key, place expr.Expr) loop.Stmt { return h.sink(p, size, key, place) })
		})
	})
}

// drop takes the root away from a heap, of which so many entries are left.
func (h heap) drop(left expr.Expr) loop.Stmt {
	return h.entry(left, func(key, place expr.Expr) loop.Stmt { return h.sink(num(0), left, key, place) })
}

// drain sorts a heap of the first size entries: the best one comes first.
func (h heap) drain(size expr.Expr) loop.Stmt {
	return each("d", expr.Max(expr.Sub(size, num(1)), num(0)), func(d expr.Expr) loop.Stmt {
		return bind("last", expr.Sub(expr.Sub(size, num(1)), d), func(last expr.Expr) loop.Stmt {
			return h.entry(last, func(key, place expr.Expr) loop.Stmt {
				return do(
					h.entry(num(0), func(wk, wp expr.Expr) loop.Stmt { return h.put(last, wk, wp) }),
					h.sink(num(0), last, key, place),
				)
			})
		})
	})
}
