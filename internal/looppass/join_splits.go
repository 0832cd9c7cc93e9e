package looppass

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// joinSplits binds the joint index of a serial loop and of a variable around it, of which both count the same tiles, where the
// conditions inside of tiles depend on that index only. LoopPartition tells its borders apart from its interior, which is written
// once: by the borders of one variable and then of the other there would be as many copies of it as cases of the first.
//
//	let p = floormod(w, 4) { for i in 0..5 { unroll t { if 20*p+4*i+t < 78 { S } } } }
//	→  let p = floormod(w, 4) { for i in 0..5 { let q = p*5+i { unroll t { if 4*q+t < 78 { S } } } } }
func joinSplits(f *loop.Func) error {
	f.Body = joined(f.Body, nil, arith.Ranges{})
	return nil
}

// joined is s, around which there are the variables outer.
func joined(s loop.Stmt, outer []*expr.Var, r arith.Ranges) loop.Stmt {
	switch s := s.(type) {
	case *loop.Seq:
		list := make([]loop.Stmt, len(s.List))
		for i, t := range s.List {
			list[i] = joined(t, outer, r)
		}
		return &loop.Seq{List: list}
	case *loop.If:
		u := &loop.If{Cond: s.Cond, Then: joined(s.Then, outer, r)}
		if s.Else != nil {
			u.Else = joined(s.Else, outer, r)
		}
		return u
	case *loop.Let:
		return &loop.Let{Var: s.Var, Value: s.Value, Body: joined(s.Body, append(outer[:len(outer):len(outer)], s.Var), r.With(s.Var, r.Of(s.Value)))}
	case *loop.Alloc:
		return &loop.Alloc{Buffer: s.Buffer, Body: joined(s.Body, outer, r)}
	case *loop.For:
		if s.Kind != loop.Serial && s.Kind != loop.Parallel {
			return s
		}
		span := r.OfLoop(s.Min, s.Extent)
		within := r.With(s.Var, span)
		body := s.Body
		if s.Kind == loop.Serial {
			body = joint(s, span, outer, within)
		}
		return &loop.For{Var: s.Var, Min: s.Min, Extent: s.Extent, Kind: s.Kind, Body: joined(body, append(outer[:len(outer):len(outer)], s.Var), within)}
	}
	return s
}

// joint is the body of f, whose variable has the values of span, with the joint index of f and one of the outer variables bound where
// there is one, and most tiles lie in its interior. A vector by itself stays as it is: copies of it cost no more than the test in each iteration.
func joint(f *loop.For, span arith.Interval, outer []*expr.Var, r arith.Ranges) loop.Stmt {
	if v, ok := f.Body.(*loop.For); ok && v.Kind == loop.Vector {
		return f.Body
	}
	u, n := splitFrom(f, outer)
	if u == nil || span.Lo < 0 || span.Hi >= n || !ofResults(f) {
		return f.Body
	}
	index := expr.Add(expr.Mul(u, expr.Index(int(n))), f.Var)
	q := &loop.Let{Var: expr.NewVar(f.Var.Name + ".joint"), Value: index}
	apart := map[*expr.Var]expr.Expr{f.Var: expr.Sub(q.Var, expr.Mul(u, expr.Index(int(n))))}
	q.Body = loop.MapExprs(f.Body, func(e expr.Expr) expr.Expr { return r.Simplify(expr.Subst(e, apart)) })
	all := r.Of(index)
	if all.Lo <= -arith.Inf || all.Hi >= arith.Inf {
		return f.Body
	}
	if in := interior(q.Body, q.Var, all, r); in == all || 2*(in.Hi-in.Lo+1) <= all.Hi-all.Lo+1 {
		return f.Body
	}
	return q
}

// ofResults reports whether f's variable counts what is stored: the steps of a sum are counted by other loops.
func ofResults(f *loop.For) bool {
	own, all := map[*loop.Buffer]bool{}, true
	loop.Walk(f.Body, func(s loop.Stmt) bool {
		switch s := s.(type) {
		case *loop.Alloc:
			own[s.Buffer] = true
		case *loop.Store:
			all = all && (own[s.To] || slices.ContainsFunc(s.Index, func(e expr.Expr) bool { return expr.Uses(e, f.Var) }))
		}
		return all
	})
	return all
}

// splitFrom is the variable u and the number n of which every condition inside the tiles of f that depends on f's variable v depends on
// n*u + v, and on v and u not otherwise; nil: there is none.
func splitFrom(f *loop.For, outer []*expr.Var) (u *expr.Var, n int64) {
	fits := true
	depends := func(l arith.Linear) {
		a, inside := l.Coef(f.Var)
		if inside {
			fits = false
		}
		if a == 0 || !fits {
			return
		}
		for _, v := range outer {
			if b, inside := l.Coef(v); !inside && b != 0 && b%a == 0 && b/a > 1 && (u == nil || u == v && n == b/a) {
				u, n = v, b/a
				return
			}
		}
		fits = false
	}
	tile := 0
	var visit func(s loop.Stmt)
	visit = func(s loop.Stmt) {
		loop.Walk(s, func(s loop.Stmt) bool {
			switch s := s.(type) {
			case *loop.For:
				if s.Kind.Copied() || s.Kind == loop.Vector {
					tile++
					visit(s.Body)
					tile--
					return false
				}
			case *loop.If:
				if tile > 0 {
					for _, l := range (arith.Facts)(nil).And(s.Cond) {
						depends(l)
					}
				}
			}
			return fits
		})
	}
	visit(f.Body)
	if !fits {
		return nil, 0
	}
	return u, n
}
