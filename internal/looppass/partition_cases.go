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
	joint := len(arith.LinearOf(t.Value).Terms) > 1
	return &loop.Let{Var: t.Var, Value: t.Value, Body: byCase(t.Body, t.Var, r.Of(t.Value), r, joint)}
}

// dividedCases does the same for the variable of a parallel loop, which stays one loop.
func dividedCases(f *loop.For, r arith.Ranges) loop.Stmt {
	return &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: byCase(f.Body, f.Var, r.OfLoop(f.Min, f.Extent), r, false)}
}

// byCase is body, in which v is anything in all, as a choice between v's interior and its border values. A joint index, which stands for
// two variables, has as many border values of its own as both; a border that is wider is a case that tests its conditions.
func byCase(body loop.Stmt, v *expr.Var, all arith.Interval, r arith.Ranges, joint bool) loop.Stmt {
	uncut := partitioned(body, r.With(v, all))
	if v.DType() != types.I64 || all.Lo <= -arith.Inf || all.Hi >= arith.Inf {
		return uncut
	}
	in := interior(body, v, all, r)
	low, high := arith.Interval{Lo: all.Lo, Hi: in.Lo - 1}, arith.Interval{Lo: in.Hi + 1, Hi: all.Hi}
	if in.Lo > in.Hi {
		low, high, joint = all, arith.Interval{Hi: -1}, false
	}
	most := int64(maxBorder) // values of a border with code of their own
	if joint || in.Lo > in.Hi {
		most = 2 * maxBorder
	}
	wide := func(b arith.Interval) bool { return b.Hi-b.Lo >= most }
	if in == all {
		return uncut
	}
	if !joint && (wide(low) || wide(high)) {
		if in.Lo <= in.Hi {
			if parts, ok := stretches(body, v, all, r, mostStretches(body)); ok {
				return byStretch(body, v, parts, r)
			}
		}
		return uncut
	}
	var list []choice
	if in.Lo <= in.Hi {
		list = append(list, choice{expr.AllOf(atLeast(v, in.Lo, all), atMost(v, in.Hi, all)), partitioned(settled(body, v, in, r), r.With(v, in))})
	}
	for _, b := range []arith.Interval{low, high} {
		if wide(b) {
			list = append(list, choice{expr.AllOf(atLeast(v, b.Lo, all), atMost(v, b.Hi, all)), loop.Fresh(partitioned(settled(body, v, b, r), r.With(v, b)))})
			continue
		}
		for x := b.Lo; x <= b.Hi; x++ {
			list = append(list, choice{expr.EQ(v, expr.Index(int(x))), iteration(body, v, x, r)})
		}
	}
	return chain(list)
}

// stretches cuts the range of v where what lanes choose turns: within a stretch they choose nothing, or it is a single value of v. There are at most
// so many of several values, and as many single ones; what is left by then is a stretch as it is. It reports whether that is better than one body.
func stretches(body loop.Stmt, v *expr.Var, all arith.Interval, r arith.Ranges, most int) (list []arith.Interval, ok bool) {
	open := []arith.Interval{all} // what is not cut, the last first
	singles, longer := 0, 0
	for len(open) > 0 {
		if singles > most || longer == most {
			return append(list, arith.Interval{Lo: open[len(open)-1].Lo, Hi: all.Hi}), longer > 0
		}
		part := open[len(open)-1]
		open = open[:len(open)-1]
		in := straight(body, v, part, r)
		switch {
		case in != part && in.Lo <= in.Hi:
			if in.Hi < part.Hi {
				open = append(open, arith.Interval{Lo: in.Hi + 1, Hi: part.Hi})
			}
			open = append(open, in)
			if in.Lo > part.Lo {
				open = append(open, arith.Interval{Lo: part.Lo, Hi: in.Lo - 1})
			}
			continue
		case part.Lo == part.Hi:
			singles++
		default:
			longer++
		}
		list = append(list, part)
	}
	return list, len(list) > 1 && (longer > 0 || most > fewStretches)
}

// byStretch is body as a choice between stretches of v, which follow each other and have borders of their own.
//
//	let x = floormod(p, n) { vector t { y[x, t] = select(x < m, a[x, t], b[x-m, t]) } }
//	→  let x = floormod(p, n) { if x < m { vector t { y[x, t] = a[x, t] } } else { vector t { y[x, t] = b[x-m, t] } } }
func byStretch(body loop.Stmt, v *expr.Var, parts []arith.Interval, r arith.Ranges) loop.Stmt {
	list := make([]choice, len(parts))
	for i, p := range parts {
		list[i] = choice{expr.LT(v, expr.Index(int(p.Hi)+1)), loop.Fresh(byCase(settled(body, v, p, r), v, p, r, false))}
	}
	return search(list)
}

// search is the first of the choices whose condition holds, all of which hold behind it. It halves what is left.
func search(list []choice) loop.Stmt {
	if len(list) == 1 {
		return list[0].body
	}
	half := len(list) / 2
	return &loop.If{Cond: list[half-1].cond, Then: search(list[:half]), Else: search(list[half:])}
}

// chain is the first of the choices whose condition holds. The last needs no test: it is what is left.
func chain(list []choice) loop.Stmt {
	chosen := list[len(list)-1].body
	for _, c := range slices.Backward(list[:len(list)-1]) {
		chosen = &loop.If{Cond: c.cond, Then: c.body, Else: chosen}
	}
	return chosen
}

// atLeast tests that v, which is in all, is lo or more; nil where it always is.
func atLeast(v *expr.Var, lo int64, all arith.Interval) expr.Expr {
	if lo <= all.Lo {
		return nil
	}
	return expr.GE(v, expr.Index(int(lo)))
}

// atMost tests that v, which is in all, is hi or less; nil where it always is.
func atMost(v *expr.Var, hi int64, all arith.Interval) expr.Expr {
	if hi >= all.Hi {
		return nil
	}
	return expr.LT(v, expr.Index(int(hi)+1))
}

// A choice is a case of a chain of conditions.
type choice struct {
	cond expr.Expr
	body loop.Stmt
}
