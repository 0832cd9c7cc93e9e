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
	return &loop.Let{Var: t.Var, Value: t.Value, Body: byCase(t.Body, t.Var, r.Of(t.Value), r)}
}

// dividedCases does the same for the variable of a parallel loop, which stays one loop.
func dividedCases(f *loop.For, r arith.Ranges) loop.Stmt {
	all := r.Of(f.Min).Add(r.Of(f.Extent))
	all = arith.Interval{Lo: r.Of(f.Min).Lo, Hi: all.Hi - 1}
	return &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: byCase(f.Body, f.Var, all, r)}
}

// byCase is body, in which v is anything in all, as a choice between v's interior and its border values.
func byCase(body loop.Stmt, v *expr.Var, all arith.Interval, r arith.Ranges) loop.Stmt {
	uncut := partitioned(body, r.With(v, all))
	if v.DType() != types.I64 || all.Lo <= -arith.Inf || all.Hi >= arith.Inf {
		return uncut
	}
	in := interior(body, v, all, r)
	switch {
	case in == all, in.Lo <= in.Hi && (in.Lo-all.Lo > maxBorder || all.Hi-in.Hi > maxBorder), in.Lo > in.Hi && all.Hi-all.Lo >= 2*maxBorder:
		return uncut
	}
	var list []choice
	if in.Lo <= in.Hi {
		var inside expr.Expr
		if in.Lo > all.Lo {
			inside = expr.AllOf(inside, expr.GE(v, expr.Index(int(in.Lo))))
		}
		if in.Hi < all.Hi {
			inside = expr.AllOf(inside, expr.LT(v, expr.Index(int(in.Hi)+1)))
		}
		list = append(list, choice{inside, partitioned(settled(body, v, in, r), r.With(v, in))})
	}
	for x := all.Lo; x <= all.Hi; x++ {
		if x == in.Lo && in.Lo <= in.Hi {
			x = in.Hi // however many values lie between borders
			continue
		}
		list = append(list, choice{expr.EQ(v, expr.Index(int(x))), iteration(body, v, x, r)})
	}
	chosen := list[len(list)-1].body // the last case needs no test: it is the only value left
	for _, c := range slices.Backward(list[:len(list)-1]) {
		chosen = &loop.If{Cond: c.cond, Then: c.body, Else: chosen}
	}
	return chosen
}

// A choice is a case of a chain of conditions.
type choice struct {
	cond expr.Expr
	body loop.Stmt
}
