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
// contiguous in memory. It follows the one in use, or is a part of what does, if the loops around next count the parts: then the last iteration
// of next asks for the next part of the first panel, or in the last of the parts for the first part of what follows all panels. Slices are as long in
// each iteration; what is left of the panel is asked for by a line in one of up to pace iterations.
//
//	for p { for i { for k in 0..8 { ... W[p*64 + k*8 + ...] ... } } }, next p, at k
//	→  for p { for i { for k { prefetch W at (p+1)*64 + (i*8 + k)*slice lines 1; ... } } }
func (s *Schedule) Prefetch(block, buffer, next, at string, pace int) error {
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
	first, err := following(flat, nest[:from+1], nest[from+1:], panel)
	if err != nil {
		return fmt.Errorf("prefetch %s, %s: %w", block, buffer, err)
	}
	perLine := buf.PerLine()
	outer := 1 // iterations of the loops around at within one of next
	var turn expr.Expr = expr.Index(0)
	for _, f := range nest[from+1 : to+1] {
		n, ok := expr.IntOf(f.Extent)
		if !ok || n < 1 {
			return fmt.Errorf("prefetch %s: the extent of %s is no constant of 1 or more", block, f.Var.Name)
		}
		if f != nest[to] {
			turn = expr.Add(expr.Mul(turn, expr.Index(int(n))), f.Var)
			outer *= int(n)
		}
	}
	f := nest[to]
	n, _ := expr.IntOf(f.Extent)
	whole := (panel + perLine - 1) / perLine
	always, every := paced(whole, outer, int(n), pace)
	if always > loop.MaxPrefetch {
		return fmt.Errorf("prefetch %s, %s: %d lines in each of %d turns", block, buffer, always, outer*int(n))
	}
	ranges := rangesAt(nest[:to+1])
	// ask is for so many lines, from one of the panel on, in slices of which one of some turns asks for one.
	ask := func(line, lines, slice, of int) loop.Stmt {
		asks := (int(n) + of - 1) / of // in one iteration of the loops around
		each := slice * perLine
		at := expr.Add(expr.Mul(turn, expr.Index(asks*each)), expr.Mul(f.Var, expr.Index(each/of)))
		var hint loop.Stmt = &loop.Prefetch{From: buf, At: ranges.Simplify(expr.Add(expr.Add(first, expr.Index(line*perLine)), at)), Lines: slice}
		if needed := (lines + slice - 1) / slice; needed < outer*asks {
			number := expr.Add(expr.Mul(turn, expr.Index(asks*of)), f.Var) // of slices, each counted of times
			hint = &loop.If{Cond: expr.LT(ranges.Simplify(number), expr.Index(needed*of)), Then: hint}
		}
		if of > 1 {
			due := expr.EQ(expr.Bin(expr.OpFloorMod, f.Var, expr.Index(of)), expr.Index(0))
			hint = &loop.If{Cond: due, Then: hint}
		}
		return hint
	}
	var hints []loop.Stmt
	regular := min(whole, always*outer*int(n))
	if always > 0 {
		hints = append(hints, ask(0, regular, always, 1))
	}
	if every > 0 {
		hints = append(hints, ask(regular, whole-regular, 1, every))
	}
	s.replace(f, &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: &loop.Seq{List: append(hints, flatten(f.Body)...)}})
	s.log("prefetch", block, pace, buffer, next, at)
	return nil
}

// paced is for how many lines a loop of n turns that runs outer times asks in each of them, and in which turns, one of up to pace, for one more, so that so
// many lines are asked for: in slices as small as can be, and about evenly, since memory that has nothing to do for a while has to be faster before.
func paced(whole, outer, n, pace int) (always, every int) {
	always = whole / (outer * n)
	rest := whole - always*outer*n
	if rest == 0 {
		return always, 0
	}
	for e := 2; e <= min(pace, n) && outer*((n+e-1)/e) >= rest; e *= 2 {
		every = e
	}
	if every == 0 {
		always++
	}
	return always, every
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

// contiguous returns the number of elements that one iteration of the first loop reads, when the loops inside it walk all
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
		if c != 0 && f != nest[0] {
			walks = append(walks, walk{c, n})
		}
	}
	slices.SortFunc(walks, func(a, b walk) int { return int(a.stride - b.stride) })
	dense := int64(each)
	for _, w := range walks {
		if w.stride != dense {
			return 0, fmt.Errorf("one iteration of %s reads with gaps", nest[0].Var.Name)
		}
		dense *= w.extent
	}
	return int(dense), nil
}

// following is the first element of the panel that is read after the one in use, of panels of so many elements: that of the next iteration of the last
// loop of nest, inside which those of inner are, or the next part of the first panel.
func following(flat arith.Linear, nest, inner []*loop.For, panel int) (expr.Expr, error) {
	next := nest[len(nest)-1]
	stride, _ := flat.Coef(next.Var)
	if stride == 0 {
		return nil, fmt.Errorf("its index does not depend on %s", next.Var.Name)
	}
	start := flat.Without(next.Var)
	for _, f := range inner {
		start = start.Without(f.Var)
	}
	beyond := func(start arith.Linear, v *expr.Var, stride int) expr.Expr {
		return expr.Add(start.Expr(), expr.Mul(expr.Add(v, expr.Index(1)), expr.Index(stride)))
	}
	neighbour := beyond(start, next.Var, int(stride))
	if int(stride) == panel {
		return neighbour, nil
	}
	refused := fmt.Errorf("one iteration of %s reads %d elements, the next begins %d on", next.Var.Name, panel, stride)
	panels, known := expr.IntOf(next.Extent)
	last := func(v *expr.Var, n int64) expr.Expr { return expr.EQ(v, expr.Index(int(n-1))) }
	var whole expr.Expr // in the last of all parts
	first, each := start, int64(panel)
	for i := len(nest) - 2; i >= 0; i-- {
		parts, ok := expr.IntOf(nest[i].Extent)
		if c, inside := flat.Coef(nest[i].Var); c != each || inside || !ok {
			break
		}
		whole = expr.AllOf(whole, last(nest[i].Var, parts))
		first, each = first.Without(nest[i].Var), each*parts
	}
	if whole == nil || !known {
		return nil, refused
	}
	more, behind := start, first
	more.Const += int64(panel)
	behind.Const += panels * stride
	return expr.If(last(next.Var, panels), expr.If(whole, behind.Expr(), more.Expr()), neighbour), nil
}
