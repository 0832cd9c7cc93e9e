package sched

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/loop"
)

// Split divides a loop of constant extent in two. Where factor does not divide the extent, the blocks inside get the
// condition that keeps them in their domain; partition later turns it into a separate tail.
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
	s.log("split", name, factor)
	return vo.Name, vi.Name, nil
}
