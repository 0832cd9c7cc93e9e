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
//	for i { vector v { y[i, v] = select(c, a, b) } }   →   if c { for i { vector v { y[i, v] = a } } } else { for i { vector v { y[i, v] = b } } }
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
	sel, ok := s.Value.(*expr.Select)
	if !ok {
		return f
	}
	var outside, inside expr.Expr
	for _, c := range arith.Conjuncts(sel.Cond) {
		if expr.Uses(c, f.Var) || reads(c) {
			inside = expr.AllOf(inside, c)
		} else {
			outside = expr.AllOf(outside, c)
		}
	}
	if outside == nil {
		return f
	}
	with := func(value expr.Expr) *loop.For {
		body := &loop.Store{To: s.To, Index: s.Index, Value: value}
		return loop.Fresh(&loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: body}).(*loop.For)
	}
	then := with(expr.If(inside, sel.A, sel.B))
	return &loop.If{Cond: outside, Then: then, Else: choicesOf(with(sel.B), most-1)}
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
