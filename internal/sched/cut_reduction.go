package sched

import (
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// CutReduction folds what a reduction loop holds apart, and adds the parts to a total in the given scope: a sum of many
// terms loses as many roundings as its longest chain has. The block's initialisation is decomposed already, and starts
// from the identity.
//
//	alloc X { X = 0; for r { for s { X = X + f } }; y = g(X) }, at r
//	→  alloc T { T = 0; for r { alloc X { X = 0; for s { X = X + f }; T = T + X } }; y = g(T) }
func (s *Schedule) CutReduction(block, at string, scope loop.Scope) error {
	b, nest, err := s.block(block)
	if err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("cut_reduction %s: %s", block, fmt.Sprintf(format, args...))
	}
	i := position(nest, at)
	if i < 0 || nest[i].Kind != loop.Serial || !ReducesOver(b, nest[i]) {
		return refuse("%q is no serial reduction loop around it", at)
	}
	if err := insideVector(nest[:i]); err != nil {
		return refuse("%v", err)
	}
	for _, f := range nest { // the parts would be added once for each reduction step
		if countsBoth(b, f) {
			return refuse("loop %s counts a reduction and a spatial axis", f.Var.Name)
		}
	}
	init, _, err := s.block(block + "_init")
	update, isOp := b.Body.Value.(*expr.Binary)
	if err != nil || b.Init != nil || init.Body.To != b.Body.To || !isOp {
		return refuse("its initialisation is not decomposed")
	}
	if id, ok := expr.Identity(update.Op, init.Body.Value.DType()); !ok || !arith.Equal(id, init.Body.Value) {
		return refuse("it does not start from the identity of %s", update.Op)
	}
	part := b.Body.To
	total := *part
	total.Name, total.Scope = part.Name+".sum", scope
	done := false
	body := loop.Rewrite(s.Func.Body, func(t loop.Stmt) loop.Stmt {
		a, ok := t.(*loop.Alloc)
		if !ok || a.Buffer != part || done {
			return t
		}
		list := flatten(a.Body)
		zero := slices.IndexFunc(list, func(u loop.Stmt) bool { return holds(u, init) })
		sum := slices.IndexFunc(list, func(u loop.Stmt) bool { return holds(u, b) })
		if zero < 0 || sum != zero+1 || !holds(list[sum], nest[i]) {
			return t
		}
		done = true
		start := s.again(list[zero], ".t", func(c *loop.Block) {
			c.Name, c.Body = block+"_total_init", &loop.Store{To: &total, Index: c.Body.Index, Value: c.Body.Value}
		})
		fold := s.again(list[zero], ".p", func(c *loop.Block) {
			sum := &expr.Binary{Op: update.Op, A: &expr.Load{From: &total, Index: c.Body.Index}, B: &expr.Load{From: part, Index: c.Body.Index}}
			c.Name, c.Body = block+"_total", &loop.Store{To: &total, Index: c.Body.Index, Value: sum}
		})
		parts := loop.Rewrite(list[sum], func(u loop.Stmt) loop.Stmt {
			f, ok := u.(*loop.For)
			if !ok || f.Var != nest[i].Var {
				return u
			}
			inner := &loop.Alloc{Buffer: part, Body: &loop.Seq{List: slices.Concat([]loop.Stmt{list[zero]}, flatten(f.Body), []loop.Stmt{fold})}}
			return &loop.For{Var: f.Var, Min: f.Min, Extent: f.Extent, Kind: f.Kind, Body: inner}
		})
		rest := []loop.Stmt{start, parts}
		for _, u := range list[sum+1:] {
			rest = append(rest, loop.MapExprs(u, func(e expr.Expr) expr.Expr { return readsOf(e, part, &total) }))
		}
		return &loop.Alloc{Buffer: &total, Body: &loop.Seq{List: append(list[:zero:zero], rest...)}}
	})
	if !done {
		return refuse("its initialisation does not stand before its loops below the allocation")
	}
	s.Func.Body = body
	s.log("cut_reduction", block, 0, at, scope.String())
	return nil
}

// again copies a nest of one block, with variables of their own for its loops, and changes the copy's block.
func (s *Schedule) again(nest loop.Stmt, suffix string, change func(*loop.Block)) loop.Stmt {
	return loop.Rewrite(loop.Fresh(nest), func(t loop.Stmt) loop.Stmt {
		switch t := t.(type) {
		case *loop.For:
			name := t.Var.Name
			t.Var.Name = name + suffix
			s.inherit(name, t.Var.Name)
		case *loop.Block:
			c := *t
			change(&c)
			return &c
		}
		return t
	})
}

// readsOf makes e read another buffer in place of one.
func readsOf(e expr.Expr, old, to *loop.Buffer) expr.Expr {
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if l, ok := x.(*expr.Load); ok && l.From == expr.Source(old) {
			return &expr.Load{From: to, Index: l.Index}
		}
		return x
	})
}
