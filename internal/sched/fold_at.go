package sched

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
)

// FoldAt folds what one iteration of a loop adds to a block's result apart, in the given scope, and adds that once: a result that lies in
// memory is read and written once for all the reductions inside the loop. The block's initialisation is decomposed already.
//
//	for v { for s { for l { T = T + f } } }, at v
//	→  for v { alloc X { for l { X = 0 }; for s { for l { X[l] = X[l] + f } }; for l { T = T + X[l] } } }
func (s *Schedule) FoldAt(block, at string, scope loop.Scope) error {
	b, nest, err := s.block(block)
	if err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("fold_at %s: %s", block, fmt.Sprintf(format, args...))
	}
	i := position(nest, at)
	if i < 0 || nest[i].Kind == loop.Vector || nest[i].Kind == loop.Parallel {
		return refuse("%q is no serial loop around it", at)
	}
	if err := insideVector(nest[:i+1]); err != nil {
		return refuse("%v", err)
	}
	if b.Init != nil || !loop.IsReduction(b.Body) {
		return refuse("it does not add to its result, or initialises it")
	}
	if accesses(nest[i].Body, b.Body.To) != accesses(b, b.Body.To) {
		return refuse("its result is used otherwise inside loop %q", at)
	}
	update := b.Body.Value.(*expr.Binary)
	identity, ok := expr.Identity(update.Op, update.DType())
	if !ok {
		return refuse("%s has no identity", update.Op)
	}
	part := *b.Body.To
	part.Name, part.Scope, part.Shape = part.Name+".part", scope, nil
	var lanes []*loop.For // the spatial loops inside
	var iters []loop.Iter // of the elements of part, which those count
	reduces := map[*expr.Var]bool{}
	for _, f := range nest[i+1:] {
		if countsBoth(b, f) {
			return refuse("loop %s counts a reduction and a spatial axis", f.Var.Name)
		}
		n, constant := expr.IntOf(f.Extent)
		if !constant || !expr.IsInt(f.Min, 0) {
			return refuse("the bounds of loop %s are not constant", f.Var.Name)
		}
		if ReducesOver(b, f) {
			continue
		}
		lanes = append(lanes, f)
		part.Shape = append(part.Shape, int(n))
		iters = append(iters, loop.Iter{Var: expr.NewVar(f.Var.Name), Extent: int(n), Binding: f.Var})
	}
	for _, it := range b.Iters {
		if it.Reduce {
			reduces[it.Var] = true
		}
	}
	if len(lanes) == len(nest)-i-1 {
		return refuse("no reduction is inside loop %q", at)
	}
	index := make([]expr.Expr, len(iters))
	for k, it := range iters {
		index[k] = it.Var
	}
	sum := &expr.Load{From: &part, Index: index}

	inner := *b
	inner.Iters = slices.Concat(b.Iters, iters)
	inner.Body = &loop.Store{To: &part, Index: index, Value: &expr.Binary{Op: update.Op, A: sum, B: update.B}}
	init := &loop.Block{Name: block + "_part_init", Iters: iters, Body: &loop.Store{To: &part, Index: index, Value: identity}}
	fold := &loop.Block{Name: block + "_part", Where: dropConditions(b.Where, reduces), Body: &loop.Store{To: b.Body.To, Index: b.Body.Index,
		Value: &expr.Binary{Op: update.Op, A: update.A, B: sum}}}
	for _, it := range b.Iters {
		if !it.Reduce {
			fold.Iters = append(fold.Iters, it)
		}
	}
	fold.Iters = append(fold.Iters, iters...)
	body := loop.Rewrite(nest[i].Body, func(t loop.Stmt) loop.Stmt {
		if t == loop.Stmt(b) {
			return &inner
		}
		return t
	})
	list := slices.Concat([]loop.Stmt{s.over(lanes, init, ".z")}, flatten(body), []loop.Stmt{s.over(lanes, fold, ".p")})
	f := *nest[i]
	f.Body = &loop.Alloc{Buffer: &part, Body: &loop.Seq{List: list}}
	s.replace(nest[i], &f)
	s.log("fold_at", block, 0, at, scope.String())
	return nil
}

// accesses counts where t allocates, loads or stores to a buffer.
func accesses(t loop.Stmt, buf *loop.Buffer) int {
	n := 0
	load := func(l *expr.Load) {
		if l.From == expr.Source(buf) {
			n++
		}
	}
	loop.Walk(t, func(u loop.Stmt) bool {
		switch u := u.(type) {
		case *loop.Alloc:
			if u.Buffer == buf {
				n++
			}
		case *loop.Block:
			if u.Body.To == buf {
				n++
			}
			expr.Loads(u.Body.Value, load)
		}
		return true
	})
	return n
}

// over is a block in a nest of its own over loops, whose names get a suffix.
func (s *Schedule) over(loops []*loop.For, b *loop.Block, suffix string) loop.Stmt {
	var nest loop.Stmt = b
	fresh := map[*expr.Var]expr.Expr{}
	for _, f := range slices.Backward(loops) {
		v := expr.NewVar(f.Var.Name + suffix)
		s.inherit(f.Var.Name, v.Name)
		fresh[f.Var] = v
		nest = &loop.For{Var: v, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: nest}
	}
	return loop.Subst(nest, fresh)
}
