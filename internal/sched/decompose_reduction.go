package sched

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/loop"
)

// DecomposeReduction takes a block's initialisation out into a nest of its own, just before a loop that contains all of
// the block's reduction loops.
//
//	for k { for j { if k == 0 { C[j] = 0 }; C[j] += ... } }, at k  →  for j { C[j] = 0 }; for k { for j { C[j] += ... } }
func (s *Schedule) DecomposeReduction(block, at string) error {
	b, nest, err := s.block(block)
	if err != nil {
		return err
	}
	if b.Init == nil {
		return fmt.Errorf("decompose_reduction %s: it has no initialisation", block)
	}
	first := position(nest, at)
	if first < 0 {
		return fmt.Errorf("decompose_reduction %s: not inside loop %q", block, at)
	}
	for _, f := range nest[:first] {
		if ReducesOver(b, f) {
			return fmt.Errorf("decompose_reduction %s: reduction loop %s is outside %s", block, f.Var.Name, at)
		}
	}
	if loop.Divided(nest[first].Body) {
		return fmt.Errorf("decompose_reduction %s: %w", block, errDivided)
	}
	inside := false
	loop.Walk(nest[first].Body, func(t loop.Stmt) bool {
		if a, ok := t.(*loop.Alloc); ok && a.Buffer == b.Body.To {
			inside = true
		}
		return !inside
	})
	if inside {
		return fmt.Errorf("decompose_reduction %s: %s is allocated inside loop %s", block, b.Body.To.Name, at)
	}
	init := &loop.Block{Name: block + "_init", Body: b.Init}
	spatial := map[*expr.Var]bool{}
	for _, it := range b.Iters {
		if !it.Reduce {
			init.Iters = append(init.Iters, it)
			expr.Walk(it.Binding, func(e expr.Expr) bool {
				if v, ok := e.(*expr.Var); ok {
					spatial[v] = true
				}
				return true
			})
		}
	}
	reduces := map[*expr.Var]bool{}
	for _, it := range b.Iters {
		if it.Reduce {
			reduces[it.Var] = true
		}
	}
	init.Where = dropConditions(b.Where, reduces)
	var loops []*loop.For
	for _, f := range nest[first:] {
		switch {
		case spatial[f.Var]:
			loops = append(loops, f)
		case f.Kind == loop.Parallel: // of one iteration: the nest beside it would not be divided
			return fmt.Errorf("decompose_reduction %s: %w", block, errDivided)
		}
	}
	body := s.over(loops, init, ".z")
	rest := *b
	rest.Init = nil
	top := nest[first]
	update := loop.Rewrite(top, func(t loop.Stmt) loop.Stmt {
		if t == loop.Stmt(b) {
			return &rest
		}
		return t
	})
	s.replace(top, &loop.Seq{List: []loop.Stmt{body, update}})
	s.log("decompose_reduction", block, 0, at)
	return nil
}

// dropConditions removes the conjuncts of where that mention any of vars.
func dropConditions(where expr.Expr, vars map[*expr.Var]bool) expr.Expr {
	if where == nil {
		return nil
	}
	b, ok := where.(*expr.Binary)
	if ok && b.Op == expr.OpAnd {
		return expr.AllOf(dropConditions(b.A, vars), dropConditions(b.B, vars))
	}
	for v := range vars {
		if expr.Uses(where, v) {
			return nil
		}
	}
	return where
}
