package looppass

import (
	"fmt"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// nameParts binds the quotients and remainders of a parallel loop's variable to variables of their own. A parallel loop
// is often several loops fused into one, and its parts are their variables: LoopPartition can then tell the borders of
// each from its interior, although the loop itself is divided among workers and stays whole.
//
//	parallel p in 0..12 { y[floordiv(p, 4)*32 + floormod(p, 4)] = ... }
//	→  parallel p in 0..12 { let p0 = floordiv(p, 4) { let p1 = floormod(p, 4) { y[p0*32 + p1] = ... } } }
func nameParts(f *loop.Func) error {
	f.Body = loop.Rewrite(f.Body, func(t loop.Stmt) loop.Stmt {
		if p, ok := t.(*loop.For); ok && p.Kind == loop.Parallel {
			return &loop.For{Var: p.Var, Min: p.Min, Extent: p.Extent, Kind: p.Kind, Body: partsNamed(p.Body, p.Var)}
		}
		return t
	})
	return nil
}

func partsNamed(body loop.Stmt, v *expr.Var) loop.Stmt {
	var parts []*loop.Let // in order of their first use
	body = loop.MapExprs(body, func(e expr.Expr) expr.Expr {
		var named func(e expr.Expr) expr.Expr
		named = func(e expr.Expr) expr.Expr {
			if !isPart(e, v) {
				return expr.MapChildren(e, named)
			}
			for _, p := range parts {
				if arith.Equal(p.Value, e) {
					return p.Var
				}
			}
			p := &loop.Let{Var: expr.NewVar(fmt.Sprintf("%s.%d", v.Name, len(parts))), Value: e}
			parts = append(parts, p)
			return p.Var
		}
		return named(e)
	})
	for i := len(parts) - 1; i >= 0; i-- {
		parts[i].Body = body
		body = parts[i]
	}
	return body
}

// isPart reports whether e is a quotient or remainder by a constant of v or of a part of v.
func isPart(e expr.Expr, v *expr.Var) bool {
	b, ok := e.(*expr.Binary)
	if !ok || b.Op != expr.OpFloorDiv && b.Op != expr.OpFloorMod {
		return false
	}
	_, constant := expr.IntOf(b.B)
	return constant && (b.A == expr.Expr(v) || isPart(b.A, v))
}
