package looppass

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// hoistGuards moves conditions outwards: for v { if a & b(v) { S } } becomes if a { for v { if b(v) { S } } }, and a
// condition linear in v becomes v's bounds: for v in max(..)..min(..) { S }. The bounds of unrolled and vector loops
// stay constant: there only constant bounds are taken over. Bounds never depend on the lane of a vector loop.
func hoistGuards(f *loop.Func) error {
	f.Body = hoist(f.Body)
	return simplify(f)
}

func hoist(s loop.Stmt) loop.Stmt {
	lanes := map[*expr.Var]bool{}
	loop.Walk(s, func(t loop.Stmt) bool {
		if f, ok := t.(*loop.For); ok && f.Kind == loop.Vector {
			lanes[f.Var] = true
		}
		return true
	})
	return loop.Rewrite(s, func(t loop.Stmt) loop.Stmt {
		if q, ok := t.(*loop.Seq); ok && len(q.List) > 1 {
			return commonGuard(q)
		}
		f, ok := t.(*loop.For)
		if !ok {
			return t
		}
		cond, body, ok := onlyIf(f.Body)
		if !ok {
			return t
		}
		var outside, inside expr.Expr
		lo, end := f.Min, arith.Ranges{}.Simplify(expr.Add(f.Min, f.Extent))
		for _, c := range arith.Conjuncts(cond) {
			switch {
			case f.Kind != loop.Parallel && !expr.Uses(c, f.Var) && !reads(c):
				outside = expr.AllOf(outside, c)
			case !bound(c, f, lanes, &lo, &end):
				inside = expr.AllOf(inside, c)
			}
		}
		if inside != nil {
			body = &loop.If{Cond: inside, Then: body}
		}
		n := arith.Ranges{}.Simplify(expr.Sub(end, lo))
		var out loop.Stmt = &loop.For{Var: f.Var, Min: lo, Extent: n, Kind: f.Kind, Body: body}
		if outside != nil {
			out = &loop.If{Cond: outside, Then: out}
		}
		return out
	})
}

// onlyIf splits a body that is one if without else, perhaps behind what is as well left out where the if fails, or within an
// allocation. Nested ifs count as their conjunction.
func onlyIf(s loop.Stmt) (cond expr.Expr, body loop.Stmt, ok bool) { return onlyIfOf(s, nil) }

// onlyIfOf is onlyIf where nothing but s reads a buffer: filling it needs no condition of its own.
func onlyIfOf(s loop.Stmt, own *loop.Buffer) (cond expr.Expr, body loop.Stmt, ok bool) {
	if q, isSeq := s.(*loop.Seq); isSeq && len(q.List) == 1 {
		return onlyIfOf(q.List[0], own)
	} else if isSeq && len(q.List) > 1 {
		if isHint(q.List[0]) || fills(q.List[0], own) {
			cond, body, ok := onlyIfOf(&loop.Seq{List: q.List[1:]}, own)
			return cond, &loop.Seq{List: []loop.Stmt{q.List[0], body}}, ok
		}
	}
	if a, isAlloc := s.(*loop.Alloc); isAlloc {
		cond, body, ok := onlyIfOf(a.Body, a.Buffer)
		return cond, &loop.Alloc{Buffer: a.Buffer, Body: body}, ok
	}
	i, ok := s.(*loop.If)
	if !ok || i.Else != nil {
		return nil, s, false
	}
	if c, b, ok := onlyIf(i.Then); ok {
		return expr.And(i.Cond, c), b, true
	}
	return i.Cond, i.Then, true
}

// fills reports whether s does nothing but store to a buffer.
func fills(s loop.Stmt, b *loop.Buffer) bool {
	only := b != nil
	loop.Walk(s, func(t loop.Stmt) bool {
		if st, ok := t.(*loop.Store); ok {
			only = only && st.To == b
		}
		return only
	})
	return only
}

// isHint reports whether s does nothing but prefetch, perhaps under conditions.
func isHint(s loop.Stmt) bool {
	switch s := s.(type) {
	case *loop.Prefetch:
		return true
	case *loop.If:
		return s.Else == nil && isHint(s.Then)
	case *loop.Seq:
		return !slices.ContainsFunc(s.List, func(t loop.Stmt) bool { return !isHint(t) })
	}
	return false
}

// reads reports whether a condition loads memory, which the loop may write.
func reads(e expr.Expr) bool {
	found := false
	expr.Loads(e, func(*expr.Load) { found = true })
	return found
}

// bound narrows lo or end by a comparison that is linear in f's variable, and reports whether it could. lanes are the
// variables of vector loops.
func bound(c expr.Expr, f *loop.For, lanes map[*expr.Var]bool, lo, end *expr.Expr) bool {
	if reads(c) {
		return false
	}
	for v := range lanes {
		if v != f.Var && expr.Uses(c, v) {
			return false
		}
	}
	facts := arith.Facts(nil).And(c)
	if len(facts) != 1 {
		return false
	}
	l := facts[0] // l >= 0 exactly when c
	a, inside := l.Coef(f.Var)
	if inside || a == 0 {
		return false
	}
	rest := l.Without(f.Var).Expr()
	r := arith.Ranges{}
	newLo, newEnd := *lo, *end
	if a > 0 { // v >= ceil(-rest/a)
		x := r.Simplify(expr.Bin(expr.OpFloorDiv, r.Simplify(expr.Sub(expr.Index(int(a)-1), rest)), expr.Index(int(a))))
		newLo = r.Simplify(expr.Max(*lo, x))
	} else { // v < floor(rest/-a) + 1
		x := r.Simplify(expr.Add(expr.Bin(expr.OpFloorDiv, rest, expr.Index(int(-a))), expr.Index(1)))
		newEnd = r.Simplify(expr.Min(*end, x))
	}
	if f.Kind == loop.Vector || f.Kind.Copied() || f.Kind == loop.Parallel {
		if _, ok := expr.IntOf(r.Simplify(expr.Sub(newEnd, newLo))); !ok {
			return false
		}
	}
	*lo, *end = newLo, newEnd
	return true
}
