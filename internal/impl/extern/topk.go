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
// costs a part of a vector's comparison, a better one sinks in log k steps. Draining the heap from the worst on sorts it, so that
// k = n is a heap sort. Rows are independent; those that lie beside each other are scanned together, a lane each.
func topK(c impl.Call) (*impl.Plan, error) {
	in, out := c.In, c.Out
	a := c.Attrs.(ops.TopKAttrs)
	outer, n, inner := around(in[0].Shape, a.Axis)
	s := selection{
		TopKAttrs: a, n: n, data: build.Param("data", in[0].DType, outer, n, inner),
		values: build.Param("values", out[0].DType, outer, a.K, inner), indices: build.Param("indices", types.I64, outer, a.K, inner),
	}
	work := float64(outer*inner) * (4*float64(n) + 16*float64(a.K*bits.Len(uint(a.K))))
	lanes := 1
	if inner > 1 {
		lanes, s.inOrder = decideSelection(c, n, a.K, inner, build.Lanes(types.F32))
	}
	if inner%lanes == 1 || lanes == 1 {
		s.together = c.DecideAmong("scan", scanned, nil, 1, 2, 8)
	}
	var parts []loop.Stmt
	for from := 0; from < inner; {
		wide := min(lanes, inner-from)
		groups, first := (inner-from)/wide, from
		parts = append(parts, impl.DividedPairs("row", outer, groups, func(o, i expr.Expr) loop.Stmt {
			return s.rows(o, expr.Add(expr.Mul(i, expr.Index(wide)), expr.Index(first)), wide)
		}))
		from += groups * wide
	}
	return c.Plan(&loop.Func{Name: "topk", Params: []*loop.Buffer{s.data, s.values, s.indices}, Body: build.Do(parts...)}, work), nil
}

// A selection is the best K of n elements.
type selection struct {
	ops.TopKAttrs
	n                     int
	inOrder               bool // rows beside each other keep their best elements in order, rather than in heaps
	together              int  // vectors of a row by itself that are looked at together
	data, values, indices *loop.Buffer
}

// rows selects from the rows [first, first+wide) that lie beside each other.
func (s selection) rows(o, first expr.Expr, wide int) loop.Stmt {
	if wide > 1 && s.inOrder {
		return s.sorted(o, first, wide)
	}
	at := func(c expr.Expr) expr.Expr { return expr.Add(first, c) }
	key := func(j, c expr.Expr) expr.Expr { return orderedKey(build.Get(s.data, o, j, at(c)), s.Largest) }
	t := key(expr.Index(0), expr.Index(0)).DType()
	heaps, buffers := newHeap(t, s.K, wide, s.n)
	of := func(c expr.Expr) heap {
		h := heaps
		h.row = c
		return h
	}
	each := func(name string, f func(c expr.Expr) loop.Stmt) loop.Stmt {
		return build.Each(name, expr.Index(wide), f)
	}
	start := each("c", func(c expr.Expr) loop.Stmt {
		h := of(c)
		return build.Do(
			build.Each("f", expr.Index(s.K), func(j expr.Expr) loop.Stmt { return h.put(j, h.of(key(j, c), j)) }),
			h.build(expr.Index(s.K)),
		)
	})
	consider := func(j, c expr.Expr) loop.Stmt {
		h := of(c)
		return build.Bind("key", key(j, c), func(key expr.Expr) loop.Stmt {
			return build.Bind("worst", h.key(expr.Index(0)), func(worst expr.Expr) loop.Stmt {
				return build.When(expr.LT(worst, key), h.sink(expr.Index(0), expr.Index(s.K), h.of(key, j)))
			})
		})
	}
	end := each("c", func(c expr.Expr) loop.Stmt {
		h := of(c)
		return build.Do(h.drain(expr.Index(s.K)), build.Each("w", expr.Index(s.K), func(w expr.Expr) loop.Stmt {
			return build.Bind("place", h.place(w), func(p expr.Expr) loop.Stmt {
				return build.Do(build.Set(s.values, build.Get(s.data, o, p, at(c)), o, w, at(c)), build.Set(s.indices, p, o, w, at(c)))
			})
		}))
	})
	var scan loop.Stmt
	if wide > 1 {
		scan = s.beside(wide, key, of, consider)
	} else {
		scan = s.alone(key, of(expr.Index(0)), consider)
	}
	return build.With(build.Do(start, scan, end), buffers...)
}

// alone scans one row: where the best element of a block is no better than the worst of the heap, none is. In a block that has better ones, they are
// found vector by vector.
func (s selection) alone(key func(j, c expr.Expr) expr.Expr, h heap, consider func(j, c expr.Expr) loop.Stmt) loop.Stmt {
	zero := expr.Index(0)
	t := key(zero, zero).DType()
	lanes := build.Lanes(t)
	size := s.together * lanes
	each := func(from expr.Expr, n int) loop.Stmt {
		return build.Each("j", expr.Index(n), func(j expr.Expr) loop.Stmt { return consider(expr.Add(from, j), zero) })
	}
	blocks := build.Each("block", expr.Index((s.n-s.K)/size), func(b expr.Expr) loop.Stmt {
		from := expr.Add(expr.Mul(b, expr.Index(size)), expr.Index(s.K))
		best := build.Register("best", t, 1)
		return build.With(build.Do(
			build.Set(best, h.key(zero), zero),
			build.Loop(loop.Unrolled, "u", zero, expr.Index(s.together), func(u expr.Expr) loop.Stmt {
				return build.Loop(loop.Vector, "v", zero, expr.Index(lanes), func(v expr.Expr) loop.Stmt {
					x := key(expr.Add(from, expr.Add(expr.Mul(u, expr.Index(lanes)), v)), zero)
					return build.Set(best, expr.Max(build.Get(best, zero), x), zero)
				})
			}),
			build.Bind("found", build.Get(best, zero), func(found expr.Expr) loop.Stmt {
				return build.When(expr.LT(h.key(zero), found), build.Each("w", expr.Index(s.together), func(w expr.Expr) loop.Stmt {
					return s.better(expr.Add(from, expr.Mul(w, expr.Index(lanes))), lanes, key, h, consider, each)
				}))
			}),
		), best)
	})
	return build.Do(blocks, each(expr.Index(s.n-(s.n-s.K)%size), (s.n-s.K)%size))
}

// better considers the elements of a vector that are better than the worst of the heap: one after the other where they are few, whose place is that of
// the first behind the last; and all of a vector with many.
func (s selection) better(from expr.Expr, lanes int, key func(j, c expr.Expr) expr.Expr, h heap, consider func(j, c expr.Expr) loop.Stmt, each func(expr.Expr, int) loop.Stmt) loop.Stmt {
	zero := expr.Index(0)
	number := func(v int64) expr.Expr { return &expr.Int{V: v, Type: types.I32} }
	count, first, behind := build.Register("count", types.I32, 1), build.Register("first", types.I32, 1), build.Register("behind", types.I32, 1)
	vector := func(f func(v expr.Expr) loop.Stmt) loop.Stmt {
		return build.Loop(loop.Vector, "v", zero, expr.Index(lanes), f)
	}
	is := func(v expr.Expr) expr.Expr { return expr.LT(h.key(zero), key(expr.Add(from, v), zero)) }
	next := build.Do(
		build.Set(first, number(int64(lanes)), zero),
		vector(func(v expr.Expr) loop.Stmt {
			lane := expr.CastTo(types.I32, v)
			at := expr.If(expr.And(is(v), expr.GE(lane, build.Get(behind, zero))), lane, number(int64(lanes)))
			return build.Set(first, expr.Min(build.Get(first, zero), at), zero)
		}),
		build.Bind("at", build.Get(first, zero), func(at expr.Expr) loop.Stmt {
			return build.When(expr.LT(at, number(int64(lanes))),
				build.Set(behind, expr.Add(at, number(1)), zero), consider(expr.Add(from, expr.CastTo(types.I64, at)), zero))
		}),
	)
	return build.With(build.Do(
		build.Set(count, number(0), zero),
		build.Set(behind, number(0), zero),
		vector(func(v expr.Expr) loop.Stmt {
			return build.Set(count, expr.Add(build.Get(count, zero), expr.If(is(v), number(1), number(0))), zero)
		}),
		build.Bind("n", build.Get(count, zero), func(n expr.Expr) loop.Stmt {
			few := number(int64(lanes / manyBetter))
			one := build.Loop(loop.Serial, "i", zero, expr.CastTo(types.I64, expr.Min(n, few)), func(expr.Expr) loop.Stmt { return next })
			return &loop.If{Cond: expr.LT(few, n), Then: each(from, lanes), Else: one}
		}),
	), count, first, behind)
}

// beside scans rows element by element, each in a lane, and looks at them one by one where one has a better element.
func (s selection) beside(wide int, key func(j, c expr.Expr) expr.Expr, of func(c expr.Expr) heap, consider func(j, c expr.Expr) loop.Stmt) loop.Stmt {
	zero := expr.Index(0)
	bit := func(v int64) expr.Expr { return &expr.Int{V: v, Type: types.I32} }
	return build.Loop(loop.Serial, "j", expr.Index(s.K), expr.Index(s.n-s.K), func(j expr.Expr) loop.Stmt {
		better := build.Register("better", types.I32, 1)
		return build.With(build.Do(
			build.Set(better, bit(0), zero),
			build.Loop(loop.Vector, "v", zero, expr.Index(wide), func(v expr.Expr) loop.Stmt {
				is := expr.If(expr.LT(of(v).key(zero), key(j, v)), bit(1), bit(0))
				return build.Set(better, expr.Max(build.Get(better, zero), is), zero)
			}),
			build.Bind("any", build.Get(better, zero), func(any expr.Expr) loop.Stmt {
				return build.When(expr.LT(bit(0), any), build.Each("c", expr.Index(wide), func(c expr.Expr) loop.Stmt { return consider(j, c) }))
			}),
		), better)
	})
}

// orderedKey maps an element to an integer, I32 where that suffices and else I64, that is greater the better the element is. NaN
// counts as greater than any number, zeros of both signs as equal.
func orderedKey(x expr.Expr, largest bool) expr.Expr {
	t := x.DType()
	switch {
	case t.IsFloat():
		x = floatKey(x)
	case t == types.U64:
		x = expr.Bin(expr.OpXor, expr.CastTo(types.I64, x), &expr.Int{V: math.MinInt64, Type: types.I64})
	}
	if t = x.DType(); t == types.U32 {
		x = expr.CastTo(types.I64, x)
	} else if t != types.I64 {
		x = expr.CastTo(types.I32, x)
	}
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
