package sched

import (
	"fmt"

	"lathe/internal/loop"
)

// PrefetchAhead asks, in every iteration of loop at, for what a block reads of the buffer n iterations later, which may lie behind
// the last of them.
//
//	for k in 0..8 { for l in 0..16 { ... W[k*16 + l] ... } }, of W, at k, 4  →  for k { prefetch W at (k+4)*16 lines 1; ... }
func (s *Schedule) PrefetchAhead(block, buffer, at string, n int) error {
	return s.ahead("prefetch_ahead", block, buffer, at, n, false)
}

// PrefetchNear is PrefetchAhead into L1, for what streams through it from L2.
func (s *Schedule) PrefetchNear(block, buffer, at string, n int) error {
	return s.ahead("prefetch_near", block, buffer, at, n, true)
}

func (s *Schedule) ahead(primitive, block, buffer, at string, n int, near bool) error {
	b, nest, err := s.block(block)
	if err != nil {
		return err
	}
	to := position(nest, at)
	if to < 0 || n < 1 {
		return fmt.Errorf("%s %s: %d iterations of loop %q around it cannot be skipped", primitive, block, n, at)
	}
	if err := insideVector(nest[:to+1]); err != nil {
		return fmt.Errorf("%s %s: %w", primitive, block, err)
	}
	if loop.Divided(nest[to].Body) {
		return fmt.Errorf("%s %s: %w", primitive, block, errDivided)
	}
	buf, flat, neighbours, err := element(b, nest, buffer)
	if err != nil {
		return fmt.Errorf("%s %s: %w", primitive, block, err)
	}
	each, inside := flat.Coef(nest[to].Var)
	if inside || each == 0 {
		return fmt.Errorf("%s %s, %s: its index does not follow %s", primitive, block, buffer, at)
	}
	run, offsets, err := runs(flat, nest[to+1:], neighbours)
	if err != nil {
		return fmt.Errorf("%s %s, %s: %w", primitive, block, buffer, err)
	}
	perLine := buf.PerLine()
	lines := (run + perLine - 1) / perLine
	if buf.Scope != loop.Global || lines*len(offsets) > loop.MaxPrefetch {
		return fmt.Errorf("%s %s: %d runs of %d lines a turn of %s buffer %s", primitive, block, len(offsets), lines, buf.Scope, buffer)
	}
	for _, f := range nest[to+1:] {
		flat = flat.Without(f.Var)
	}
	flat.Const += int64(n) * each
	list := make([]loop.Stmt, len(offsets), len(offsets)+1)
	ranges := rangesAt(nest[:to+1])
	for i, o := range offsets {
		l := flat
		l.Const += o
		list[i] = &loop.Prefetch{From: buf, At: ranges.Simplify(l.Expr()), Lines: lines, Near: near}
	}
	f := nest[to]
	s.replace(f, &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: &loop.Seq{List: append(list, flatten(f.Body)...)}})
	s.log(primitive, block, n, buffer, at)
	return nil
}
