package sched

import (
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// Prefetch asks, while one iteration of loop next runs, for the panel of a buffer that its next iteration reads: every
// iteration of loop at, inside next, asks for the following slice of it, until all of it is asked for. The panel must be
// contiguous in memory and follow the one in use.
//
//	for p { for i { for k in 0..8 { ... W[p*64 + k*8 + ...] ... } } }, next p, at k
//	→  for p { for i { for k { prefetch W at (p+1)*64 + (i*8 + k)*slice lines 1; ... } } }
func (s *Schedule) Prefetch(block, buffer, next, at string) error {
	b, nest, err := s.block(block)
	if err != nil {
		return err
	}
	from, to := position(nest, next), position(nest, at)
	if from < 0 || to <= from {
		return fmt.Errorf("prefetch %s: loop %q is not inside %q around the block", block, at, next)
	}
	if err := insideVector(nest[:to+1]); err != nil {
		return fmt.Errorf("prefetch %s: %w", block, err)
	}
	if loop.Divided(nest[to].Body) {
		return fmt.Errorf("prefetch %s: %w", block, errDivided)
	}
	buf, flat, each, err := element(b, nest, buffer)
	if err != nil {
		return fmt.Errorf("prefetch %s: %w", block, err)
	}
	if buf.Scope != loop.Global {
		return fmt.Errorf("prefetch %s: %s buffer %s", block, buf.Scope, buffer)
	}
	panel, err := contiguous(flat, nest[from:], each)
	if err != nil {
		return fmt.Errorf("prefetch %s, %s: %w", block, buffer, err)
	}
	perLine := buf.PerLine()
	var turn expr.Expr = expr.Index(0) // counts iterations of at within one of next
	turns := 1
	for _, f := range nest[from+1 : to+1] {
		n, ok := expr.IntOf(f.Extent)
		if !ok || n < 1 {
			return fmt.Errorf("prefetch %s: the extent of %s is no constant of 1 or more", block, f.Var.Name)
		}
		turn = expr.Add(expr.Mul(turn, expr.Index(int(n))), f.Var)
		turns *= int(n)
	}
	whole := (panel + perLine - 1) / perLine
	lines := (whole + turns - 1) / turns
	if lines < 1 || lines > loop.MaxPrefetch {
		return fmt.Errorf("prefetch %s, %s: %d lines in each of %d turns", block, buffer, lines, turns)
	}
	start := flat
	for _, f := range nest[from:] {
		start = start.Without(f.Var)
	}
	first := expr.Add(start.Expr(), expr.Mul(expr.Add(nest[from].Var, expr.Index(1)), expr.Index(panel)))
	var hint loop.Stmt = &loop.Prefetch{From: buf, At: rangesAt(nest[:to+1]).Simplify(expr.Add(first, expr.Mul(turn, expr.Index(lines*perLine)))), Lines: lines}
	if needed := (whole + lines - 1) / lines; needed < turns {
		hint = &loop.If{Cond: expr.LT(rangesAt(nest[:to+1]).Simplify(turn), expr.Index(needed)), Then: hint}
	}
	f := nest[to]
	s.replace(f, &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: &loop.Seq{List: append([]loop.Stmt{hint}, flatten(f.Body)...)}})
	s.log("prefetch", block, 0, buffer, next, at)
	return nil
}

// element finds the one access of the named buffer in a block, its store included, its first element as a linear form over the loops, and how
// many neighbours it accesses: those that a dot product takes at once.
func element(b *loop.Block, nest []*loop.For, name string) (*loop.Buffer, arith.Linear, int, error) {
	type access struct {
		buf   *loop.Buffer
		index []expr.Expr
	}
	var found []access
	if b.Body.To.Name == name {
		found = append(found, access{b.Body.To, b.Body.Index})
	}
	expr.Loads(b.Body.Value, func(l *expr.Load) {
		if from, ok := l.From.(*loop.Buffer); ok && from.Name == name {
			found = append(found, access{from, l.Index})
		}
	})
	if len(found) != 1 {
		return nil, arith.Linear{}, 0, fmt.Errorf("it accesses %s %d times", name, len(found))
	}
	each := 1
	expr.Walk(b.Body.Value, func(e expr.Expr) bool {
		if d, ok := e.(*expr.Dot); ok {
			for l, axis := range map[*expr.Load]int{d.A: d.AxisA, d.B: d.AxisB} {
				if from := l.From.(*loop.Buffer); from.Name == name && from.Strides()[axis] == 1 {
					each = d.Width()
				}
			}
		}
		return true
	})
	bind := b.Bindings()
	var flat expr.Expr = expr.Index(0)
	for i, n := range found[0].buf.Strides() {
		flat = expr.Add(flat, expr.Mul(expr.Subst(found[0].index[i], bind), expr.Index(n)))
	}
	return found[0].buf, arith.LinearOf(rangesAt(nest).Simplify(flat)), each, nil
}

// contiguous returns the number of elements between two iterations of the first loop, when the loops inside it walk all
// of them, each at a time.
func contiguous(flat arith.Linear, nest []*loop.For, each int) (int, error) {
	type walk struct{ stride, extent int64 }
	var walks []walk
	for _, f := range nest {
		c, inside := flat.Coef(f.Var)
		n, ok := expr.IntOf(f.Extent)
		if inside || !ok {
			return 0, fmt.Errorf("its index is not linear in %s", f.Var.Name)
		}
		if c != 0 {
			walks = append(walks, walk{c, n})
		}
	}
	if first, _ := flat.Coef(nest[0].Var); first == 0 {
		return 0, fmt.Errorf("its index does not depend on %s", nest[0].Var.Name)
	}
	panel := walks[0].stride
	slices.SortFunc(walks[1:], func(a, b walk) int { return int(a.stride - b.stride) })
	dense := int64(each)
	for _, w := range walks[1:] {
		if w.stride != dense {
			return 0, fmt.Errorf("one iteration of %s reads with gaps", nest[0].Var.Name)
		}
		dense *= w.extent
	}
	if dense != panel {
		return 0, fmt.Errorf("one iteration of %s reads %d elements, the next begins %d on", nest[0].Var.Name, dense, panel)
	}
	return int(panel), nil
}
