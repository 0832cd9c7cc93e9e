package looppass

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// cases tells the border values of a bound variable apart from its interior, as pieces does for a loop.
//
//	let x = floormod(p, n) { unroll t { if 4*x+t < w { S } } }
//	→  let x = floormod(p, n) { if x < n-1 { unroll t { S } } else { S at x=n-1, guarded } }
func cases(t *loop.Let, r arith.Ranges) loop.Stmt {
	all := r.Of(t.Value)
	uncut := &loop.Let{Var: t.Var, Value: t.Value, Body: partitioned(t.Body, r.With(t.Var, all))}
	if t.Var.DType() != types.I64 || all.Lo <= -arith.Inf || all.Hi >= arith.Inf {
		return uncut
	}
	in := interior(t.Body, t.Var, all, r)
	switch {
	case in == all, in.Lo <= in.Hi && (in.Lo-all.Lo > maxBorder || all.Hi-in.Hi > maxBorder), in.Lo > in.Hi && all.Hi-all.Lo >= 2*maxBorder:
		return uncut
	}
	var list []choice
	if in.Lo <= in.Hi {
		var inside expr.Expr
		if in.Lo > all.Lo {
			inside = expr.AllOf(inside, expr.GE(t.Var, expr.Index(int(in.Lo))))
		}
		if in.Hi < all.Hi {
			inside = expr.AllOf(inside, expr.LT(t.Var, expr.Index(int(in.Hi)+1)))
		}
		list = append(list, choice{inside, partitioned(settled(t.Body, t.Var, in, r), r.With(t.Var, in))})
	}
	for x := all.Lo; x <= all.Hi; x++ {
		if x < in.Lo || x > in.Hi {
			list = append(list, choice{expr.EQ(t.Var, expr.Index(int(x))), iteration(t.Body, t.Var, x, r)})
		}
	}
	body := list[len(list)-1].body // the last case needs no test: it is the only value left
	for _, c := range slices.Backward(list[:len(list)-1]) {
		body = &loop.If{Cond: c.cond, Then: c.body, Else: body}
	}
	return &loop.Let{Var: t.Var, Value: t.Value, Body: body}
}

// A choice is a case of a chain of conditions.
type choice struct {
	cond expr.Expr
	body loop.Stmt
}
