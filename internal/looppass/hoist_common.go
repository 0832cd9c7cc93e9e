package looppass

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// commonGuard takes the conditions that all statements of a list stand under out of it: the parts of a tile (its zeros, its
// sums, its stores) share those on the tile.
//
//	{ if a & b { S } if a { T } }  →  if a { if b { S } T }
func commonGuard(q *loop.Seq) loop.Stmt {
	var common []expr.Expr
	first := true
	for _, s := range q.List {
		if isHint(s) {
			continue // as well left out
		}
		cond, _, ok := onlyIf(s)
		if !ok {
			return q
		}
		have := arith.Conjuncts(cond)
		common = slices.DeleteFunc(have, func(c expr.Expr) bool { return reads(c) || !first && !arith.Among(common, c) })
		first = false
	}
	if len(common) == 0 {
		return q
	}
	var outside expr.Expr
	list := make([]loop.Stmt, len(q.List))
	for i, s := range q.List {
		if list[i] = s; isHint(s) {
			continue
		}
		cond, body, _ := onlyIf(s)
		var rest, shared expr.Expr
		for _, c := range arith.Conjuncts(cond) {
			if arith.Among(common, c) {
				shared = expr.AllOf(shared, c)
			} else {
				rest = expr.AllOf(rest, c)
			}
		}
		if outside == nil {
			outside = shared // in the order of the first statement
		}
		if list[i] = body; rest != nil {
			list[i] = &loop.If{Cond: rest, Then: body}
		}
	}
	return &loop.If{Cond: outside, Then: &loop.Seq{List: list}}
}
