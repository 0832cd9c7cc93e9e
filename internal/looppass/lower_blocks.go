package looppass

import (
	"math"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// lowerBlocks replaces each block by its statements. A reduction of a guarded value, X = X op select(c, v, identity of
// op), becomes if c { X = X op v }, so that the guard can turn into loop bounds.
func lowerBlocks(f *loop.Func) error {
	f.Body = loop.Rewrite(f.Body, func(t loop.Stmt) loop.Stmt {
		b, ok := t.(*loop.Block)
		if !ok {
			return t
		}
		var first expr.Expr
		for _, it := range b.Iters {
			if it.Reduce {
				first = expr.AllOf(first, expr.EQ(it.Binding, expr.Index(0)))
			}
		}
		bind := b.Bindings()
		body := guarded(loop.Subst(b.Body, bind).(*loop.Store))
		if b.Init != nil {
			init := loop.Subst(b.Init, bind)
			if first != nil {
				init = &loop.If{Cond: first, Then: init}
			}
			body = &loop.Seq{List: []loop.Stmt{init, body}}
		}
		if b.Where != nil {
			body = &loop.If{Cond: arith.Undivided(expr.Subst(b.Where, bind)), Then: body}
		}
		return body
	})
	return simplify(f)
}

func guarded(s *loop.Store) loop.Stmt {
	update, ok := s.Value.(*expr.Binary)
	if !ok {
		return s
	}
	old, ok := update.A.(*expr.Load)
	if !ok || old.From != expr.Source(s.To) {
		return s
	}
	sel, ok := update.B.(*expr.Select)
	if !ok || !isIdentity(update.Op, sel.B) {
		return s
	}
	return &loop.If{Cond: sel.Cond, Then: guarded(&loop.Store{To: s.To, Index: s.Index, Value: &expr.Binary{Op: update.Op, A: old, B: sel.A}})}
}

// isIdentity reports whether x op e is x for every x.
func isIdentity(op expr.Op, e expr.Expr) bool {
	switch c := e.(type) {
	case *expr.Float:
		switch op {
		case expr.OpAdd:
			return c.V == 0
		case expr.OpMul:
			return c.V == 1
		case expr.OpMax, expr.OpGreater:
			return math.IsInf(c.V, -1)
		case expr.OpMin:
			return math.IsInf(c.V, 1)
		}
	case *expr.Int:
		lo, hi := c.Type.IntRange()
		switch op {
		case expr.OpAdd, expr.OpOr:
			return c.V == 0
		case expr.OpMul:
			return c.V == 1
		case expr.OpMax:
			return c.V == lo
		case expr.OpMin:
			return c.V == hi
		case expr.OpAnd:
			return c.V == 1 && hi == 1
		}
	}
	return false
}
