package looppass

import (
	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// maxBorder is the number of border iterations that get code of their own rather than a loop.
const maxBorder = 2

// partition splits serial and parallel loops whose bodies test conditions inside unrolled or vector loops: head,
// interior and tail become separate loops, and the interior's conditions are true for all its iterations.
//
//	for x in 0..n { unroll t { if 0 <= 4*x+t-1 < w { S } } }
//	→  { S at x=0, guarded }  for x in 1..n-1 { unroll t { S } }  { S at x=n-1, guarded }
func partition(f *loop.Func) error {
	f.Body = partitioned(f.Body, arith.Ranges{})
	return simplify(f)
}

func partitioned(s loop.Stmt, r arith.Ranges) loop.Stmt {
	switch s := s.(type) {
	case *loop.Seq:
		list := make([]loop.Stmt, len(s.List))
		for i, t := range s.List {
			list[i] = partitioned(t, r)
		}
		return &loop.Seq{List: list}
	case *loop.If:
		u := &loop.If{Cond: s.Cond, Then: partitioned(s.Then, r)}
		if s.Else != nil {
			u.Else = partitioned(s.Else, r)
		}
		return u
	case *loop.Let:
		return &loop.Let{Var: s.Var, Value: s.Value, Body: partitioned(s.Body, r.With(s.Var, r.Of(s.Value)))}
	case *loop.Alloc:
		return &loop.Alloc{Buffer: s.Buffer, Body: partitioned(s.Body, r)}
	case *loop.For:
		span := r.Of(s.Min).Add(r.Of(s.Extent))
		span = arith.Interval{Lo: r.Of(s.Min).Lo, Hi: span.Hi - 1}
		f := &loop.For{Var: s.Var, Min: s.Min, Extent: s.Extent, Kind: s.Kind, Body: partitioned(s.Body, r.With(s.Var, span))}
		if s.Kind != loop.Serial {
			return f
		}
		return pieces(f, r)
	}
	return s
}

// pieces splits f at the bounds of the region where all tile conditions hold.
func pieces(f *loop.For, r arith.Ranges) loop.Stmt {
	lo, ok1 := expr.IntOf(f.Min)
	n, ok2 := expr.IntOf(f.Extent)
	if !ok1 || !ok2 || n < 2 {
		return f
	}
	in := interior(f, r.With(f.Var, arith.Interval{Lo: lo, Hi: lo + n - 1}), arith.Interval{Lo: lo, Hi: lo + n - 1})
	switch {
	case in.Lo == lo && in.Hi == lo+n-1:
		return f
	case in.Lo > in.Hi && n <= 2*maxBorder: // every iteration touches a border
		return &loop.Seq{List: border(f, lo, lo+n, true)}
	case in.Lo > in.Hi:
		return f
	}
	var list []loop.Stmt
	list = append(list, border(f, lo, in.Lo, false)...)
	list = append(list, &loop.For{Var: f.Var, Min: expr.Index(int(in.Lo)), Extent: expr.Index(int(in.Hi - in.Lo + 1)), Kind: f.Kind, Body: f.Body})
	list = append(list, border(f, in.Hi+1, lo+n, false)...)
	return &loop.Seq{List: list}
}

// border makes the iterations [lo, hi) of f: a loop when there are many, unless each must be separate.
func border(f *loop.For, lo, hi int64, separate bool) []loop.Stmt {
	if hi-lo > maxBorder && !separate {
		return []loop.Stmt{loop.Fresh(&loop.For{Var: f.Var, Min: expr.Index(int(lo)), Extent: expr.Index(int(hi - lo)), Kind: f.Kind, Body: f.Body})}
	}
	var list []loop.Stmt
	for x := lo; x < hi; x++ {
		list = append(list, loop.Fresh(loop.Subst(f.Body, map[*expr.Var]expr.Expr{f.Var: expr.Index(int(x))})))
	}
	return list
}

// interior is the range of f's variable in which every condition inside its tiles holds for all values of the other
// variables. Conditions that cannot be bounded do not count.
func interior(f *loop.For, r arith.Ranges, all arith.Interval) arith.Interval {
	in := all
	var visit func(s loop.Stmt, r arith.Ranges, tile bool)
	visit = func(s loop.Stmt, r arith.Ranges, tile bool) {
		switch s := s.(type) {
		case *loop.Seq:
			for _, t := range s.List {
				visit(t, r, tile)
			}
		case *loop.For:
			span := r.Of(s.Min).Add(r.Of(s.Extent))
			r = r.With(s.Var, arith.Interval{Lo: r.Of(s.Min).Lo, Hi: span.Hi - 1})
			visit(s.Body, r, tile || s.Kind == loop.Unrolled || s.Kind == loop.Vector)
		case *loop.Let:
			visit(s.Body, r.With(s.Var, r.Of(s.Value)), tile)
		case *loop.Alloc:
			visit(s.Body, r, tile)
		case *loop.If:
			if tile {
				for _, l := range (arith.Facts)(nil).And(s.Cond) {
					in = within(in, l, f.Var, r)
				}
			}
			visit(s.Then, r, tile)
			if s.Else != nil {
				visit(s.Else, r, tile)
			}
		}
	}
	visit(f.Body, r, false)
	return in
}

// within narrows in to where l = a*v + rest >= 0 holds whatever rest is.
func within(in arith.Interval, l arith.Linear, v *expr.Var, r arith.Ranges) arith.Interval {
	a, inside := l.Coef(v)
	if inside || a == 0 {
		return in
	}
	rest := l.Without(v).Range(r).Lo
	if rest <= -arith.Inf {
		return in
	}
	if a > 0 {
		in.Lo = max(in.Lo, arith.CeilDiv(-rest, a))
	} else {
		in.Hi = min(in.Hi, arith.FloorDiv(rest, -a))
	}
	return in
}
