package sched

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/loop"
)

// Fuse joins two perfectly nested loops of constant extents.
//
//	for i in 0..n { for j in 0..m { S(i, j) } }  →  for i.j in 0..n*m { S(i.j floordiv m, i.j floormod m) }
func (s *Schedule) Fuse(outer, inner string) (string, error) {
	f, err := s.loop(outer)
	if err != nil {
		return "", err
	}
	g, ok := f.Body.(*loop.For)
	if !ok || g.Var.Name != inner {
		return "", fmt.Errorf("fuse %s, %s: not perfectly nested", outer, inner)
	}
	n, ok1 := expr.IntOf(f.Extent)
	m, ok2 := expr.IntOf(g.Extent)
	if !ok1 || !ok2 || !expr.IsInt(f.Min, 0) || !expr.IsInt(g.Min, 0) || f.Kind != loop.Serial || g.Kind != loop.Serial {
		return "", fmt.Errorf("fuse %s, %s: only serial loops with constant bounds", outer, inner)
	}
	v := expr.NewVar(outer + "." + inner)
	h := &loop.For{Var: v, Min: expr.Index(0), Extent: expr.Index(int(n * m))}
	path := s.around(f)
	ranges := rangesAt(path[:len(path)-1])
	ranges[v] = rangeOf(h, nil)
	h.Body = substLoop(g.Body, map[*expr.Var]expr.Expr{
		f.Var: expr.Bin(expr.OpFloorDiv, v, expr.Index(int(m))),
		g.Var: expr.Bin(expr.OpFloorMod, v, expr.Index(int(m))),
	}, ranges)
	s.replace(f, h)
	s.log("fuse", outer, 0, inner)
	return v.Name, nil
}
