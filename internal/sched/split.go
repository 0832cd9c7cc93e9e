package sched

import (
	"fmt"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// Split divides a loop of constant extent in two. Where factor does not divide the extent, the blocks inside get the
// condition that keeps them in their domain, which must exclude the iterations beyond the extent; partition later turns
// it into a separate tail. The inner part of another split is therefore divided by its divisors only.
//
//	for i in 0..n { S(i) }  →  for i.o in 0..ceil(n/factor) { for i.i in 0..factor { S(i.o*factor + i.i) } }
func (s *Schedule) Split(name string, factor int) (outer, inner string, err error) {
	f, err := s.loop(name)
	if err != nil {
		return "", "", err
	}
	n, ok := expr.IntOf(f.Extent)
	if !ok || !expr.IsInt(f.Min, 0) {
		return "", "", fmt.Errorf("split %s: its bounds are not constant", name)
	}
	if factor < 1 || f.Kind != loop.Serial {
		return "", "", fmt.Errorf("split %s by %d: a %s loop", name, factor, f.Kind)
	}
	k := int64(factor)
	if tail := (arith.Interval{Lo: n, Hi: (n+k-1)/k*k - 1}); n%k != 0 {
		if b := s.notExcluded(f, tail); b != nil {
			return "", "", fmt.Errorf("split %s by %d: it does not divide %d, and iterations beyond would not leave the domain of block %s", name, factor, n, b.Name)
		}
	}
	vo, vi := expr.NewVar(name+".o"), expr.NewVar(name+".i")
	in := &loop.For{Var: vi, Min: expr.Index(0), Extent: expr.Index(factor)}
	out := &loop.For{Var: vo, Min: expr.Index(0), Extent: expr.Index(int((n + k - 1) / k)), Body: in}
	ranges := rangesAt(s.around(f)[:len(s.around(f))-1])
	ranges[vo], ranges[vi] = rangeOf(out, nil), rangeOf(in, nil)
	in.Body = substLoop(f.Body, map[*expr.Var]expr.Expr{f.Var: expr.Add(expr.Mul(vo, expr.Index(factor)), vi)}, ranges)
	if n%k != 0 {
		in.Body = guardDomain(in.Body, ranges)
	}
	s.replace(f, out)
	s.inherit(name, vo.Name, vi.Name)
	s.log("split", name, factor)
	return vo.Name, vi.Name, nil
}

// notExcluded returns a block inside f that may stay in its domain when f's variable lies in tail, or nil. A block that
// does not depend on the variable may run again if it only fills scratch of an iteration.
func (s *Schedule) notExcluded(f *loop.For, tail arith.Interval) *loop.Block {
	ranges := rangesAt(s.around(f))
	ranges[f.Var] = tail
	scratch := map[*loop.Buffer]bool{}
	var found *loop.Block
	loop.Walk(f.Body, func(t loop.Stmt) bool {
		switch t := t.(type) {
		case *loop.For:
			ranges[t.Var] = rangeOf(t, ranges)
		case *loop.Alloc:
			scratch[t.Buffer] = true
		case *loop.Block:
			if !excluded(t, ranges) && !(scratch[t.Body.To] && !mentions(t, f.Var)) {
				found = t
			}
		}
		return found == nil
	})
	return found
}

// excluded reports whether some iteration variable of b is beyond its domain all over the ranges.
func excluded(b *loop.Block, r arith.Ranges) bool {
	for _, it := range b.Iters {
		if r.Of(it.Binding).Lo >= int64(it.Extent) {
			return true
		}
	}
	return false
}

// mentions reports whether anything in b depends on v.
func mentions(b *loop.Block, v *expr.Var) bool {
	found := false
	loop.MapExprs(b, func(e expr.Expr) expr.Expr {
		found = found || expr.Uses(e, v)
		return e
	})
	return found
}
