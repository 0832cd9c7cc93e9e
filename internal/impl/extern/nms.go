package extern

import (
	"lathe/internal/expr"
	"lathe/internal/impl"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// allClassNMS takes the best boxes of each class that overlap none of the taken ones too much.
func allClassNMS(c impl.Call) (*impl.Plan, error) {
	in, out := c.In, c.Out
	a := c.Attrs.(ops.NMSAttrs)
	batches, classes, n := in[1].Shape[0], in[1].Shape[1], in[1].Shape[2]
	most := min(a.MaxOutput, n)
	lanes := c.DecideAmong("lanes", build.Lanes(types.F32), nil, impl.Powers(build.Lanes(types.F32))...)
	w := &suppression{
		NMSAttrs: a, most: most, found: newTally(), taken: newTally(),
		boxes: build.Param("boxes", types.F32, in[0].Shape...), scores: build.Param("scores", types.F32, in[1].Shape...),
		y: build.Param("y", types.I64, out[0].Elements()), chosen: build.Scratch("chosen", types.F32, 4, (most+lanes-1)/lanes*lanes), lanes: lanes,
	}
	w.heap, w.entries = newHeap(types.I32, n, 1, n)
	count := build.Param("count", types.I64)
	body := build.Each("b", expr.Index(batches), func(b expr.Expr) loop.Stmt {
		return build.Each("c", expr.Index(classes), func(c expr.Expr) loop.Stmt { return w.class(b, c) })
	})
	if most == 0 {
		body = build.Do()
	}
	end := func(k expr.Expr) loop.Stmt {
		return build.Do(build.Set(count, k), clear(w.y, expr.Mul(k, expr.Index(3)), expr.Index(out[0].Elements())))
	}
	return c.Plan(&loop.Func{Name: "all_class_nms", Params: []*loop.Buffer{w.boxes, w.scores, w.y, count}, Body: w.found.within(body, end)}, 0), nil
}

type suppression struct {
	ops.NMSAttrs
	most             int
	found, taken     tally // rows written, boxes of the class taken
	boxes, scores, y *loop.Buffer
	chosen           *loop.Buffer // sides of the boxes taken, and of empty boxes up to whole vectors
	lanes            int          // boxes that one is compared with at a time
	heap             heap
	entries          []*loop.Buffer // of the heap
}

// class takes boxes of a class from a heap of those that are good enough, the best one first, until there are enough. Keys
// and places are inverted, so that the best is at the root, and of equal ones the one that comes first.
func (w *suppression) class(b, c expr.Expr) loop.Stmt {
	good, last := newTally(), expr.Index(w.heap.k-1)
	consider := w.scan(b, c, func(i expr.Expr) loop.Stmt {
		return build.Bind("score", build.Get(w.scores, b, c, i), func(score expr.Expr) loop.Stmt {
			put := good.next(func(n expr.Expr) loop.Stmt {
				return w.heap.put(n, w.heap.of(orderedKey(score, false), expr.Sub(last, i)))
			})
			if w.UseScore {
				return build.When(expr.Bin(expr.OpGT, score, f32(w.ScoreThreshold)), put)
			}
			return put
		})
	})
	take := func(left expr.Expr) loop.Stmt {
		return build.Bind("count", build.Get(w.taken.cell, expr.Index(0)), func(k expr.Expr) loop.Stmt {
			return build.When(expr.LT(k, expr.Index(w.most)), build.Bind("box", expr.Sub(last, w.heap.place(expr.Index(0))), func(box expr.Expr) loop.Stmt {
				return build.Do(w.heap.drop(left), w.candidate(b, c, k, box))
			}))
		})
	}
	return build.With(good.within(consider, func(size expr.Expr) loop.Stmt {
		return build.Do(w.heap.build(size), w.taken.within(build.Each("i", size, func(i expr.Expr) loop.Stmt {
			return take(expr.Sub(expr.Sub(size, expr.Index(1)), i))
		}), func(expr.Expr) loop.Stmt { return build.Do() }))
	}), append(w.entries, w.chosen)...)
}

// scan has all boxes of a class considered in order. Few are good enough as a rule, so that a vector of which none is costs one test.
func (w *suppression) scan(b, c expr.Expr, consider func(i expr.Expr) loop.Stmt) loop.Stmt {
	n := w.heap.k
	full := n / w.lanes * w.lanes
	if !w.UseScore || w.lanes == 1 {
		full = 0
	}
	vectors := build.Each("s", expr.Index(full/w.lanes), func(s expr.Expr) loop.Stmt {
		first, zero := expr.Mul(s, expr.Index(w.lanes)), expr.Index(0)
		good := build.Register("any_good", types.I32, 1)
		return build.With(build.Do(
			build.Set(good, bit(0), zero),
			build.Loop(loop.Vector, "v", zero, expr.Index(w.lanes), func(v expr.Expr) loop.Stmt {
				above := expr.Bin(expr.OpGT, build.Get(w.scores, b, c, expr.Add(first, v)), f32(w.ScoreThreshold))
				return build.Set(good, expr.Max(build.Get(good, zero), expr.If(above, bit(1), bit(0))), zero)
			}),
			build.Bind("is_good", build.Get(good, zero), func(is expr.Expr) loop.Stmt {
				return build.When(expr.LT(bit(0), is), build.Each("f", expr.Index(w.lanes), func(i expr.Expr) loop.Stmt { return consider(expr.Add(first, i)) }))
			}),
		), good)
	})
	rest := build.Each("f", expr.Index(n-full), func(i expr.Expr) loop.Stmt { return consider(expr.Add(expr.Index(full), i)) })
	switch full {
	case 0:
		return rest
	case n:
		return vectors
	}
	return build.Do(vectors, rest)
}

// candidate takes a box if it is free of the k boxes taken.
func (w *suppression) candidate(b, c, k, box expr.Expr) loop.Stmt {
	bad := build.Register("bad", types.I32, 1)
	zero := expr.Index(0)
	each := func(f func(v expr.Expr) loop.Stmt) loop.Stmt {
		return build.Loop(loop.Vector, "v", zero, expr.Index(w.lanes), f)
	}
	vectors := expr.Bin(expr.OpFloorDiv, expr.Add(k, expr.Index(w.lanes-1)), expr.Index(w.lanes))
	return w.corners(b, box, func(p []expr.Expr) loop.Stmt {
		return build.With(build.Do(
			build.Set(bad, bit(0), zero),
			build.Each("s", vectors, func(s expr.Expr) loop.Stmt {
				return each(func(v expr.Expr) loop.Stmt {
					at := expr.Add(expr.Mul(s, expr.Index(w.lanes)), v)
					var q []expr.Expr
					for i := range 4 {
						q = append(q, build.Get(w.chosen, expr.Index(i), at))
					}
					return build.Set(bad, expr.Max(build.Get(bad, zero), expr.If(w.overlap(p, q), bit(1), bit(0))), zero)
				})
			}),
			build.Bind("is_bad", build.Get(bad, zero), func(is expr.Expr) loop.Stmt {
				return build.When(expr.LT(is, bit(1)), w.taken.next(func(k expr.Expr) loop.Stmt {
					fresh := build.When(expr.EQ(expr.Bin(expr.OpFloorMod, k, expr.Index(w.lanes)), zero), each(func(v expr.Expr) loop.Stmt {
						var list []loop.Stmt
						for i := range p {
							list = append(list, build.Set(w.chosen, f32(0), expr.Index(i), expr.Add(k, v)))
						}
						return build.Do(list...)
					}))
					list := []loop.Stmt{fresh}
					for i, x := range p {
						list = append(list, build.Set(w.chosen, x, expr.Index(i), k))
					}
					return build.Do(list...)
				}), w.found.next(func(row expr.Expr) loop.Stmt {
					at := func(i int) expr.Expr { return expr.Add(expr.Mul(row, expr.Index(3)), expr.Index(i)) }
					return build.Do(build.Set(w.y, b, at(0)), build.Set(w.y, c, at(1)), build.Set(w.y, box, at(2)))
				}))
			}),
		), bad)
	})
}

// bit is 0 or 1 as the largest of lanes tells whether any has it.
func bit(v int64) expr.Expr { return &expr.Int{V: v, Type: types.I32} }

func f32(v float64) expr.Expr { return &expr.Float{V: float64(float32(v)), Type: types.F32} }

// bindAll evaluates each of a list once.
func bindAll(name string, list []expr.Expr, body func(list []expr.Expr) loop.Stmt) loop.Stmt {
	var vars []expr.Expr
	var next func() loop.Stmt
	next = func() loop.Stmt {
		if len(vars) == len(list) {
			return body(vars)
		}
		return build.Bind(name+string(rune('0'+len(vars))), list[len(vars)], func(x expr.Expr) loop.Stmt {
			vars = append(vars, x)
			return next()
		})
	}
	return next()
}

// corners binds the sides y0, x0, y1, x1 of a box, low before high.
func (w *suppression) corners(b, box expr.Expr, body func(p []expr.Expr) loop.Stmt) loop.Stmt {
	v := func(k int) expr.Expr { return build.Get(w.boxes, b, box, expr.Index(k)) }
	sides := []expr.Expr{expr.Min(v(0), v(2)), expr.Min(v(1), v(3)), expr.Max(v(0), v(2)), expr.Max(v(1), v(3))}
	if w.CenterPoint {
		half := func(k int) expr.Expr { return expr.Div(v(k), f32(2)) }
		sides = []expr.Expr{expr.Sub(v(1), half(3)), expr.Sub(v(0), half(2)), expr.Add(v(1), half(3)), expr.Add(v(0), half(2))}
	}
	return bindAll("p", sides, body)
}

// overlap is the condition under which the intersection is more than the threshold's part of the union.
func (w *suppression) overlap(p, q []expr.Expr) expr.Expr {
	let := func(name string, e expr.Expr) *expr.Let {
		return &expr.Let{Var: &expr.Var{Name: name, Type: e.DType()}, Value: e}
	}
	area := func(p []expr.Expr) expr.Expr { return expr.Mul(expr.Sub(p[2], p[0]), expr.Sub(p[3], p[1])) }
	h := let("h", expr.Sub(expr.Min(p[2], q[2]), expr.Max(p[0], q[0])))
	v := let("w", expr.Sub(expr.Min(p[3], q[3]), expr.Max(p[1], q[1])))
	one, two := let("one", area(p)), let("two", area(q))
	both := let("both", expr.Mul(h.Var, v.Var))
	positive := func(l *expr.Let) expr.Expr { return expr.Bin(expr.OpGT, l.Var, f32(0)) }
	part := expr.Div(both.Var, expr.Sub(expr.Add(one.Var, two.Var), both.Var))
	body := expr.AllOf(positive(h), positive(v), positive(one), positive(two), expr.Bin(expr.OpGT, part, f32(w.IOUThreshold)))
	for _, l := range []*expr.Let{both, two, one, v, h} {
		body = &expr.Let{Var: l.Var, Value: l.Value, Body: body}
	}
	return body
}
