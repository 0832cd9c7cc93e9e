package sched

import (
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// PrefetchTile asks, while one iteration of loop tile runs, for what a block at its end reads or writes of a buffer: every
// iteration of loop at, inside tile, asks for the following slice of each run of neighbouring elements, until all are asked
// for. Up to atOnce lines are asked for together before that loop, which tests nothing then.
//
//	for i { for k in 0..8 { T += ... } for j in 0..512 { y[i*512 + j] = T + x[i*512 + j] } }, of x, tile i, at k, atOnce 0
//	→  for i { for k { prefetch x at i*512 + k*64 lines 4; T += ... } for j { ... } }
func (s *Schedule) PrefetchTile(block, buffer, tile, at string, atOnce int) error {
	b, nest, err := s.block(block)
	if err != nil {
		return err
	}
	f, err := s.loop(at)
	if err != nil {
		return err
	}
	path := s.around(f)
	i := position(nest, tile)
	if i < 0 || len(path) <= i+1 || path[i] != nest[i] {
		return fmt.Errorf("prefetch_tile %s: loop %q is not around it and around %q", block, tile, at)
	}
	if err := insideVector(path); err != nil {
		return fmt.Errorf("prefetch_tile %s: %w", block, err)
	}
	turns, ok := expr.IntOf(f.Extent)
	if !ok || turns < 1 || !expr.IsInt(f.Min, 0) || f.Kind != loop.Serial {
		return fmt.Errorf("prefetch_tile %s: %s is no serial loop of constant extent 1 or more", block, at)
	}
	if loop.Divided(f.Body) {
		return fmt.Errorf("prefetch_tile %s: %w", block, errDivided)
	}
	buf, flat, each, err := element(b, nest, buffer)
	if err != nil {
		return fmt.Errorf("prefetch_tile %s: %w", block, err)
	}
	run, offsets, err := runs(flat, nest[i+1:], each)
	if err != nil {
		return fmt.Errorf("prefetch_tile %s, %s: %w", block, buffer, err)
	}
	perLine := buf.PerLine()
	lines := (run + perLine - 1) / perLine
	before := lines*len(offsets) <= atOnce
	if !before {
		lines = (lines + int(turns) - 1) / int(turns)
	}
	if buf.Scope != loop.Global || lines*len(offsets) > loop.MaxPrefetch {
		return fmt.Errorf("prefetch_tile %s: %d runs of %d lines a turn of %s buffer %s", block, len(offsets), lines, buf.Scope, buffer)
	}
	for _, g := range nest[i+1:] {
		flat = flat.Without(g.Var)
	}
	var list []loop.Stmt
	ranges := rangesAt(path)
	for _, o := range offsets {
		l := flat
		l.Const += o
		first := l.Expr()
		if !before {
			first = expr.Add(first, expr.Mul(f.Var, expr.Index(lines*perLine)))
		}
		list = append(list, &loop.Prefetch{From: buf, At: ranges.Simplify(first), Lines: lines, Write: buf == b.Body.To})
	}
	if before {
		s.replace(f, &loop.Seq{List: append(list, f)})
	} else {
		if needed := (run + lines*perLine - 1) / (lines * perLine); needed < int(turns) {
			list = []loop.Stmt{&loop.If{Cond: expr.LT(f.Var, expr.Index(needed)), Then: &loop.Seq{List: list}}}
		}
		s.replace(f, &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: &loop.Seq{List: append(list, flatten(f.Body)...)}})
	}
	s.log("prefetch_tile", block, atOnce, buffer, tile, at)
	return nil
}

// runs describes the elements that the loops of a nest touch, relative to those of their first iterations: the number of
// neighbouring elements in each run, each at a time, and where the runs begin.
func runs(flat arith.Linear, nest []*loop.For, each int) (run int, offsets []int64, err error) {
	type walk struct{ stride, extent int64 }
	var walks []walk
	for _, f := range nest {
		c, inside := flat.Coef(f.Var)
		n, ok := expr.IntOf(f.Extent)
		if inside || !ok || c < 0 {
			return 0, nil, fmt.Errorf("its index is not linear in %s", f.Var.Name)
		}
		if c != 0 {
			walks = append(walks, walk{c, n})
		}
	}
	slices.SortFunc(walks, func(a, b walk) int { return int(a.stride - b.stride) })
	run, offsets = each, []int64{0}
	for _, w := range walks {
		if w.stride <= int64(run) && len(offsets) == 1 { // windows have elements in common
			run += int(w.stride * (w.extent - 1))
			continue
		}
		if len(offsets)*int(w.extent) > loop.MaxPrefetch {
			return 0, nil, fmt.Errorf("it has more than %d runs", loop.MaxPrefetch)
		}
		var all []int64
		for i := range w.extent {
			for _, o := range offsets {
				all = append(all, o+i*w.stride)
			}
		}
		offsets = all
	}
	return run, offsets, nil
}
