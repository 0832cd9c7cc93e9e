package looppass

import (
	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// maxBorder is the number of border iterations that get code of their own rather than a loop.
const maxBorder = 2

// Copies of a part's body for ranges in which its lanes choose one thing.
const (
	fewStretches  = 4
	manyStretches = 64
)

// mostStretches bounds them: few of a long body, and of one that stores once as many as a line has operands next to each other.
func mostStretches(body loop.Stmt) int {
	stores := 0
	loop.Walk(body, func(s loop.Stmt) bool {
		if _, is := s.(*loop.Store); is {
			stores++
		}
		return stores < 2
	})
	if stores == 1 {
		return manyStretches
	}
	return fewStretches
}

// partition splits serial loops whose bodies test conditions inside unrolled or vector loops: head, interior and tail
// become separate loops, and the interior's conditions are true for all its iterations. A part of a parallel loop's
// variable gets a case for each border value, and one for the interior.
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
		return cases(s, r)
	case *loop.Alloc:
		return &loop.Alloc{Buffer: s.Buffer, Body: partitioned(s.Body, r)}
	case *loop.For:
		switch s.Kind {
		case loop.Serial:
			return pieces(s, r)
		case loop.Parallel:
			return dividedCases(s, r)
		}
		return whole(s, r)
	}
	return s
}

// whole keeps f one loop; its body is partitioned.
func whole(f *loop.For, r arith.Ranges) loop.Stmt {
	return &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: partitioned(f.Body, r.With(f.Var, r.OfLoop(f.Min, f.Extent)))}
}

// pieces splits f at the bounds of the region where all tile conditions hold. The loops inside a piece are partitioned
// by the conditions that its bounds leave open.
func pieces(f *loop.For, r arith.Ranges) loop.Stmt {
	lo, ok1 := expr.IntOf(f.Min)
	n, ok2 := expr.IntOf(f.Extent)
	if !ok1 || !ok2 || n < 2 {
		return whole(f, r)
	}
	in := interior(f.Body, f.Var, arith.Interval{Lo: lo, Hi: lo + n - 1}, r)
	switch {
	case in.Lo == lo && in.Hi == lo+n-1:
		return whole(f, r)
	case in.Lo > in.Hi && n <= 2*maxBorder: // every iteration touches a border
		return &loop.Seq{List: border(f, lo, lo+n, true, r)}
	case in.Lo > in.Hi:
		return whole(f, r)
	}
	var list []loop.Stmt
	list = append(list, border(f, lo, in.Lo, false, r)...)
	middle := &loop.For{Var: f.Var, Min: expr.Index(int(in.Lo)), Extent: expr.Index(int(in.Hi - in.Lo + 1)), Kind: f.Kind, Body: settled(f.Body, f.Var, in, r)}
	if straight(middle.Body, f.Var, in, r) == in {
		list = append(list, whole(middle, r))
	} else { // lanes choose among more than are looked at in one go
		list = append(list, pieces(middle, r))
	}
	list = append(list, border(f, in.Hi+1, lo+n, false, r)...)
	return &loop.Seq{List: list}
}

// settled is body without the conditions that are true or false for all v in the interval.
func settled(body loop.Stmt, v *expr.Var, in arith.Interval, r arith.Ranges) loop.Stmt {
	if s := simplified(body, r.With(v, in), nil); s != nil {
		return s
	}
	return &loop.Seq{}
}

// border makes the iterations [lo, hi) of f: a loop when there are many, unless each must be separate.
func border(f *loop.For, lo, hi int64, separate bool, r arith.Ranges) []loop.Stmt {
	if hi-lo > maxBorder && !separate {
		part := &loop.For{Var: f.Var, Min: expr.Index(int(lo)), Extent: expr.Index(int(hi - lo)), Kind: f.Kind, Body: f.Body}
		if all := (arith.Interval{Lo: lo, Hi: hi - 1}); straight(f.Body, f.Var, all, r) != all { // a border has an interior of its own
			return []loop.Stmt{loop.Fresh(pieces(part, r))}
		}
		return []loop.Stmt{loop.Fresh(whole(part, r))}
	}
	var list []loop.Stmt
	for x := lo; x < hi; x++ {
		list = append(list, iteration(f.Body, f.Var, x, r))
	}
	return list
}

// iteration is a copy of body in which v is x, partitioned.
func iteration(body loop.Stmt, v *expr.Var, x int64, r arith.Ranges) loop.Stmt {
	body = loop.Subst(body, map[*expr.Var]expr.Expr{v: expr.Index(int(x))})
	return loop.Fresh(partitioned(settled(body, v, arith.Point(x), r), r))
}

// interior is the range of v, which is in all, in which every condition inside the tiles of body holds for all values
// of the other variables, and in which lanes read along straight lines. Conditions that cannot be bounded do not count.
func interior(body loop.Stmt, v *expr.Var, all arith.Interval, r arith.Ranges) arith.Interval {
	in := straight(body, v, all, r)
	var visit func(s loop.Stmt, r arith.Ranges, tile bool)
	visit = func(s loop.Stmt, r arith.Ranges, tile bool) {
		switch s := s.(type) {
		case *loop.Seq:
			for _, t := range s.List {
				visit(t, r, tile)
			}
		case *loop.For:
			r = r.With(s.Var, r.OfLoop(s.Min, s.Extent))
			visit(s.Body, r, tile || s.Kind.Copied() || s.Kind == loop.Vector)
		case *loop.Let:
			visit(s.Body, r.With(s.Var, r.Of(s.Value)), tile)
		case *loop.Alloc:
			visit(s.Body, r, tile)
		case *loop.If:
			if tile {
				for _, l := range (arith.Facts)(nil).And(s.Cond) {
					in = r.Within(in, l, v)
				}
			}
			visit(s.Then, r, tile)
			if s.Else != nil {
				visit(s.Else, r, tile)
			}
		}
	}
	visit(body, r.With(v, all), false)
	return in
}

// straight is the range of v, which is in all, in which lanes read along straight lines, and choose nothing.
func straight(body loop.Stmt, v *expr.Var, all arith.Interval, r arith.Ranges) arith.Interval {
	in, vectors, lanes := all, false, map[*expr.Var]bool{} // of vectors, and of those that are copied for each other
	r = r.With(v, all)
	loop.Walk(body, func(s loop.Stmt) bool {
		switch s := s.(type) {
		case *loop.For:
			r = r.With(s.Var, r.OfLoop(s.Min, s.Extent))
			vectors = vectors || s.Kind == loop.Vector
			if s.Kind == loop.Vector || s.Kind.Copied() {
				lanes[s.Var] = true
			}
		case *loop.Let:
			r = r.With(s.Var, r.Of(s.Value))
		case *loop.Store:
			if vectors {
				in = r.Settle(s.Value, v, in, func(x *expr.Var) bool { return lanes[x] })
			}
		}
		return true
	})
	return in
}
