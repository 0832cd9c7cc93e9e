package looppass

import (
	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// maxChoices bounds the copies of a loop over vectors that choices make.
const maxChoices = 16

// hoistChoices makes loops of their own for what vectors choose by a condition that is the same in all of them: it is tested once
// outside.
//
//	for i { vector v { y[i, v] = f(select(c, a, b)) } }   →   if c { for i { vector v { y[i, v] = f(a) } } } else { for i { vector v { y[i, v] = f(b) } } }
func hoistChoices(f *loop.Func) error {
	f.Body = loop.Rewrite(f.Body, func(t loop.Stmt) loop.Stmt {
		l, ok := t.(*loop.For)
		switch {
		case !ok:
		case l.Kind == loop.Vector:
			return choicesOf(l, maxChoices)
		case l.Kind == loop.Serial:
			return chosenLoops(l)
		}
		return t
	})
	return simplify(f)
}

// choicesOf makes a vector loop per choice, as many as there may be.
func choicesOf(f *loop.For, most int) loop.Stmt {
	s, ok := f.Body.(*loop.Store)
	if !ok || most < 2 {
		return f
	}
	sel, outside, inside := sameForAll(s.Value, f.Var)
	if sel == nil {
		return f
	}
	with := func(chosen expr.Expr) *loop.For {
		value := replaced(s.Value, sel, chosen)
		body := &loop.Store{To: s.To, Index: s.Index, Value: value}
		return loop.Fresh(&loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: body}).(*loop.For)
	}
	then := with(expr.If(inside, sel.A, sel.B))
	return &loop.If{Cond: outside, Then: then, Else: choicesOf(with(sel.B), most-1)}
}

// sameForAll finds what a value chooses by a condition of which a part is the same for all lanes: that part and the rest. The value itself counts as a choice in any case,
// one within it where only one of its ways reads elements, such as padding, since vectors compute both.
func sameForAll(value expr.Expr, lane *expr.Var) (sel *expr.Select, outside, inside expr.Expr) {
	bound := map[*expr.Var]bool{}
	expr.Walk(value, func(e expr.Expr) bool {
		switch e := e.(type) {
		case *expr.Load:
			return false
		case *expr.Let:
			bound[e.Var] = true
		case *expr.Select:
			if sel != nil || e != value && reads(e.A) == reads(e.B) {
				break
			}
			var out, in expr.Expr
			for _, c := range arith.Conjuncts(e.Cond) {
				if expr.Uses(c, lane) || reads(c) || usesAny(c, bound) {
					in = expr.AllOf(in, c)
				} else {
					out = expr.AllOf(out, c)
				}
			}
			if out != nil {
				sel, outside, inside = e, out, in
			}
		}
		return sel == nil
	})
	return sel, outside, inside
}

func usesAny(e expr.Expr, vars map[*expr.Var]bool) bool {
	for v := range vars {
		if expr.Uses(e, v) {
			return true
		}
	}
	return false
}

// replaced is a value with something else in the place of one of its parts.
func replaced(value, part, by expr.Expr) expr.Expr {
	if value == part {
		return by
	}
	return expr.MapChildren(value, func(e expr.Expr) expr.Expr { return replaced(e, part, by) })
}

// chosenLoops tests a condition outside of a loop that it does not depend on.
func chosenLoops(f *loop.For) loop.Stmt {
	c, ok := f.Body.(*loop.If)
	if !ok || c.Else == nil || expr.Uses(c.Cond, f.Var) || reads(c.Cond) {
		return f
	}
	part := func(body loop.Stmt) loop.Stmt {
		return chosenLoops(loop.Fresh(&loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: body}).(*loop.For))
	}
	return &loop.If{Cond: c.Cond, Then: part(c.Then), Else: part(c.Else)}
}
