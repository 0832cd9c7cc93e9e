package looppass

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// simplify rewrites every expression by what the loops and conditions around it say, removes statements that never run,
// and loops of one iteration.
func simplify(f *loop.Func) error {
	f.Body = simplified(f.Body, arith.Ranges{}, nil)
	if f.Body == nil {
		f.Body = &loop.Seq{}
	}
	return nil
}

func simplified(s loop.Stmt, r arith.Ranges, facts arith.Facts) loop.Stmt {
	e := func(x expr.Expr) expr.Expr { return r.SimplifyUnder(x, facts) }
	switch s := s.(type) {
	case *loop.Seq:
		var list []loop.Stmt
		for _, t := range s.List {
			switch u := simplified(t, r, facts).(type) {
			case nil:
			case *loop.Seq:
				list = append(list, u.List...)
			default:
				list = append(list, u)
			}
		}
		switch len(list) {
		case 0:
			return nil
		case 1:
			return list[0]
		}
		return &loop.Seq{List: list}
	case *loop.For:
		return simplifiedLoop(s, r, facts)
	case *loop.If:
		c := e(s.Cond)
		if v, ok := expr.IntOf(c); ok {
			if v != 0 {
				return simplified(s.Then, r, facts)
			}
			if s.Else == nil {
				return nil
			}
			return simplified(s.Else, r, facts)
		}
		u := &loop.If{Cond: c, Then: simplified(s.Then, r, facts.And(c))}
		if s.Else != nil {
			u.Else = simplified(s.Else, r, facts)
		}
		switch {
		case u.Then == nil && u.Else == nil:
			return nil
		case u.Then == nil:
			return &loop.If{Cond: expr.Call(expr.FnNot, c), Then: u.Else}
		}
		return u
	case *loop.Let:
		v := e(s.Value)
		if body := simplified(s.Body, r.With(s.Var, r.Of(v)), facts); body != nil {
			return &loop.Let{Var: s.Var, Value: v, Body: body}
		}
		return nil
	case *loop.Alloc:
		if body := simplified(s.Body, r, facts); body != nil {
			return &loop.Alloc{Buffer: s.Buffer, Body: body}
		}
		return nil
	case *loop.Prefetch:
		return &loop.Prefetch{From: s.From, At: e(s.At), Lines: s.Lines, Near: s.Near, Write: s.Write}
	case *loop.Store:
		index := make([]expr.Expr, len(s.Index))
		for i, x := range s.Index {
			index[i] = e(x)
		}
		value := e(s.Value)
		if l, ok := value.(*expr.Load); ok && l.From == expr.Source(s.To) && slices.EqualFunc(l.Index, index, arith.Equal) {
			return nil // what is there already: an integer sum of zeros
		}
		return &loop.Store{To: s.To, Index: index, Value: value}
	}
	return s
}

func simplifiedLoop(s *loop.For, r arith.Ranges, facts arith.Facts) loop.Stmt {
	lo, n := r.SimplifyUnder(s.Min, facts), r.SimplifyUnder(s.Extent, facts)
	if c, ok := expr.IntOf(n); ok {
		if c <= 0 {
			return nil
		}
		if c == 1 && s.Kind != loop.Parallel && s.Kind != loop.Matrix {
			body := loop.Subst(s.Body, map[*expr.Var]expr.Expr{s.Var: lo})
			return simplified(body, r, facts)
		}
	}
	body := simplified(s.Body, r.With(s.Var, r.OfLoop(lo, n)), loopFacts(facts, s.Var, lo, n))
	if body == nil {
		return nil
	}
	return &loop.For{Var: s.Var, Min: lo, Extent: n, Kind: s.Kind, Body: body}
}

// loopFacts adds lo <= v < lo+n where the bounds are not constant, each side of a min or max on its own.
func loopFacts(facts arith.Facts, v *expr.Var, lo, n expr.Expr) arith.Facts {
	if _, ok := expr.IntOf(lo); !ok {
		for _, b := range operands(expr.OpMax, lo) {
			facts = facts.And(expr.GE(v, b))
		}
	}
	if _, ok := expr.IntOf(n); !ok {
		// n is end-lo; v < end. The end may be a minimum.
		end := arith.Ranges{}.Simplify(expr.Add(lo, n))
		for _, b := range operands(expr.OpMin, end) {
			facts = facts.And(expr.LT(v, b))
		}
	}
	return facts
}

func operands(op expr.Op, e expr.Expr) []expr.Expr {
	if b, ok := e.(*expr.Binary); ok && b.Op == op {
		return append(operands(op, b.A), operands(op, b.B)...)
	}
	return []expr.Expr{e}
}
