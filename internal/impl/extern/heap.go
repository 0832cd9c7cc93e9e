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
	keys   *loop.Buffer // of several heaps beside each other; I64 that hold places too where there is no other buffer for these
	places *loop.Buffer // nil where keys are I32: both are one number then, which one load fetches and one comparison orders
	k      int
	row    expr.Expr // which of them it is
}

// An entry of a heap is a key and a place, or one number that holds both as its key.
type entry struct{ key, place expr.Expr }

// placeMask has the bits of a place beside a key. A greater place has a smaller number there, for it is worse.
const placeMask = 1<<32 - 1

// newHeap makes scratch for heaps of k entries, so many beside each other, whose keys are I32 or I64 and whose places are below n. buffers
// are to be allocated around the heap's use. Heaps beside each other are read a lane each, by keys that lie beside each other.
func newHeap(t types.DType, k, beside, n int) (h heap, buffers []*loop.Buffer) {
	h = heap{keys: build.Scratch("keys", types.I64, k, beside), k: k, row: expr.Index(0)}
	if t == types.I32 && beside == 1 && n <= placeMask {
		return h, []*loop.Buffer{h.keys}
	}
	h.keys.DType, h.places = t, build.Scratch("places", types.I64, k, beside)
	return h, []*loop.Buffer{h.places, h.keys}
}

// of is the entry of a key and a place.
func (h heap) of(key, place expr.Expr) entry {
	if h.places != nil {
		return entry{key, place}
	}
	high := expr.Bin(expr.OpShl, expr.CastTo(types.I64, key), expr.Index(32))
	return entry{key: expr.Add(high, expr.Sub(expr.Index(placeMask), place))}
}

// key is the key at a position.
func (h heap) key(at expr.Expr) expr.Expr {
	key := build.Get(h.keys, at, h.row)
	if h.places != nil {
		return key
	}
	return expr.CastTo(types.I32, expr.Bin(expr.OpShr, key, expr.Index(32)))
}

// place is the place at a position.
func (h heap) place(at expr.Expr) expr.Expr {
	if h.places != nil {
		return build.Get(h.places, at, h.row)
	}
	return expr.Sub(expr.Index(placeMask), expr.And(build.Get(h.keys, at, h.row), expr.Index(placeMask)))
}

func (h heap) put(at expr.Expr, e entry) loop.Stmt {
	set := build.Set(h.keys, e.key, at, h.row)
	if h.places == nil {
		return set
	}
	return build.Do(set, build.Set(h.places, e.place, at, h.row))
}

// entry binds what stands at a position.
func (h heap) entry(at expr.Expr, body func(e entry) loop.Stmt) loop.Stmt {
	e := entry{key: build.Get(h.keys, at, h.row)}
	if h.places != nil {
		e.place = build.Get(h.places, at, h.row)
	}
	return e.bind(body)
}

// bind computes an entry once.
func (e entry) bind(body func(e entry) loop.Stmt) loop.Stmt {
	return build.Bind("key", e.key, func(key expr.Expr) loop.Stmt {
		if e.place == nil {
			return body(entry{key: key})
		}
		return build.Bind("place", e.place, func(place expr.Expr) loop.Stmt { return body(entry{key, place}) })
	})
}

// either is a where c holds, else b.
func either(c expr.Expr, a, b entry) entry {
	e := entry{key: expr.If(c, a.key, b.key)}
	if a.place != nil {
		e.place = expr.If(c, a.place, b.place)
	}
	return e
}

func worse(a, b entry) expr.Expr {
	if a.place == nil {
		return expr.LT(a.key, b.key)
	}
	return expr.Or(expr.LT(a.key, b.key), expr.And(expr.EQ(a.key, b.key), expr.LT(b.place, a.place)))
}

// sink puts an element at a position of the heap's first size entries, and moves worse children up until it fits. Once it
// fits, the steps left find no worse child.
func (h heap) sink(from, size expr.Expr, e entry) loop.Stmt {
	return h.sinkBy(expr.Index(h.levels()), from, size, e)
}

// sinkBy is sink by so many levels at most.
func (h heap) sinkBy(levels, from, size expr.Expr, e entry) loop.Stmt {
	at := build.Register("at", types.I64, 1)
	step := func(p expr.Expr) loop.Stmt {
		return build.Bind("left", expr.Add(expr.Mul(p, expr.Index(2)), expr.Index(1)), func(l expr.Expr) loop.Stmt {
			return build.When(expr.LT(l, size), build.Bind("right", expr.Min(expr.Add(l, expr.Index(1)), expr.Sub(size, expr.Index(1))), func(r expr.Expr) loop.Stmt {
				return h.entry(l, func(left entry) loop.Stmt {
					return h.entry(r, func(right entry) loop.Stmt {
						return build.Bind("right_worse", worse(right, left), func(c expr.Expr) loop.Stmt {
							return either(c, right, left).bind(func(child entry) loop.Stmt {
								return build.When(worse(child, e), h.put(p, child), build.Set(at, expr.If(c, r, l), expr.Index(0)))
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
		build.Bind("p", build.Get(at, expr.Index(0)), func(p expr.Expr) loop.Stmt { return h.put(p, e) }),
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
				return h.entry(p, func(e entry) loop.Stmt { return h.sinkBy(expr.Add(below, one), p, size, e) })
			})
		})
	})
}

// drop takes the root away from a heap, of which so many entries are left.
func (h heap) drop(left expr.Expr) loop.Stmt {
	return h.entry(left, func(e entry) loop.Stmt { return h.sink(expr.Index(0), left, e) })
}

// drain sorts a heap of the first size entries: the best one comes first.
func (h heap) drain(size expr.Expr) loop.Stmt {
	return build.Each("d", expr.Max(expr.Sub(size, expr.Index(1)), expr.Index(0)), func(d expr.Expr) loop.Stmt {
		return build.Bind("last", expr.Sub(expr.Sub(size, expr.Index(1)), d), func(last expr.Expr) loop.Stmt {
			return h.entry(last, func(e entry) loop.Stmt {
				return build.Do(
					h.entry(expr.Index(0), func(worst entry) loop.Stmt { return h.put(last, worst) }),
					h.sink(expr.Index(0), last, e),
				)
			})
		})
	})
}
