package extern

import (
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/loop/build"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// allClassNMS takes the best boxes of each class that overlap none of the taken ones too much.
func allClassNMS(attrs any, in, out []types.Tensor) (*loop.Func, error) {
	a := attrs.(ops.NMSAttrs)
	batches, classes, n := in[1].Shape[0], in[1].Shape[1], in[1].Shape[2]
	most := min(a.MaxOutput, n)
	w := &suppression{
		NMSAttrs: a, most: most, found: newTally(), taken: newTally(),
		boxes: build.Param("boxes", types.F32, in[0].Shape...), scores: build.Param("scores", types.F32, in[1].Shape...),
		y: build.Param("y", types.I64, out[0].Elements()), chosen: build.Scratch("chosen", types.F32, most, 4),
		heap: heap{build.Scratch("keys", types.I32, n, 1), build.Scratch("places", types.I64, n, 1), n, expr.Index(0)},
	}
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
	return &loop.Func{Name: "all_class_nms", Params: []*loop.Buffer{w.boxes, w.scores, w.y, count}, Body: w.found.within(body, end)}, nil
}

type suppression struct {
	ops.NMSAttrs
	most             int
	found, taken     tally // rows written, boxes of the class taken
	boxes, scores, y *loop.Buffer
	chosen           *loop.Buffer // corners of the boxes taken
	heap             heap
}

// class takes boxes of a class from a heap of those that are good enough, the best one first, until there are enough. Keys
// and places are inverted, so that the best is at the root, and of equal ones the one that comes first.
func (w *suppression) class(b, c expr.Expr) loop.Stmt {
	good, last := newTally(), expr.Index(w.heap.k-1)
	consider := build.Each("f", expr.Index(w.heap.k), func(i expr.Expr) loop.Stmt {
		return build.Bind("score", build.Get(w.scores, b, c, i), func(score expr.Expr) loop.Stmt {
			put := good.next(func(n expr.Expr) loop.Stmt { return w.heap.put(n, orderedKey(score, false), expr.Sub(last, i)) })
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
	}), w.heap.keys, w.heap.places, w.chosen)
}

// candidate takes a box if it is free of the k boxes taken.
func (w *suppression) candidate(b, c, k, box expr.Expr) loop.Stmt {
	free := build.Register("free", types.Bool, 1)
	no, yes := &expr.Int{V: 0, Type: types.Bool}, &expr.Int{V: 1, Type: types.Bool}
	return w.corners(b, box, func(p []expr.Expr) loop.Stmt {
		return build.With(build.Do(
			build.Set(free, yes, expr.Index(0)),
			build.Each("s", k, func(s expr.Expr) loop.Stmt {
				return bindAll("q", []expr.Expr{build.Get(w.chosen, s, expr.Index(0)), build.Get(w.chosen, s, expr.Index(1)), build.Get(w.chosen, s, expr.Index(2)), build.Get(w.chosen, s, expr.Index(3))}, func(q []expr.Expr) loop.Stmt {
					return build.When(w.overlap(p, q), build.Set(free, no, expr.Index(0)))
				})
			}),
			build.Bind("is_free", build.Get(free, expr.Index(0)), func(is expr.Expr) loop.Stmt {
				return build.When(is, w.taken.next(func(k expr.Expr) loop.Stmt {
					list := make([]loop.Stmt, 4)
					for i := range list {
						list[i] = build.Set(w.chosen, p[i], k, expr.Index(i))
					}
					return build.Do(list...)
				}), w.found.next(func(row expr.Expr) loop.Stmt {
					at := func(i int) expr.Expr { return expr.Add(expr.Mul(row, expr.Index(3)), expr.Index(i)) }
					return build.Do(build.Set(w.y, b, at(0)), build.Set(w.y, c, at(1)), build.Set(w.y, box, at(2)))
				}))
			}),
		), free)
	})
}

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
