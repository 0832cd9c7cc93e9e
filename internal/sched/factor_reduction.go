package sched

import (
	"fmt"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/loop"
)

// FactorReduction multiplies what CutReduction adds to the total by those factors of the block's sum that no iteration of a part changes,
// instead of every term: the scales of weights that are quantised in blocks.
//
//	T = 0; for r { X = 0; for s { X = X + f(r, s) * g(r) }; T = T + X }
//	→  T = 0; for r { X = 0; for s { X = X + f(r, s) }; T = T + X * g(r) }
func (s *Schedule) FactorReduction(block string) error {
	refuse := func(why string) error { return fmt.Errorf("factor_reduction %s: %s", block, why) }
	b, nest, err := s.block(block)
	if err != nil {
		return err
	}
	total, around, err := s.block(block + "_total")
	if err != nil {
		return refuse("its reduction is not cut")
	}
	update, ok := b.Body.Value.(*expr.Binary)
	if !ok || update.Op != expr.OpAdd || !update.DType().IsFloat() {
		return refuse("it is no sum of floats")
	}
	var kept, moved []expr.Expr
	reduce := map[*expr.Var]expr.Expr{}
	for _, it := range b.Iters {
		if it.Reduce {
			reduce[it.Var] = it.Binding
		}
	}
	ranges, outside := rangesAt(nest), map[*expr.Var]*loop.For{}
	for _, f := range around {
		outside[f.Var] = f
	}
	list := Factors(update.B)
	for i, x := range list {
		if last := i == len(list)-1 && len(kept) == 0; last { // something is left to sum
			kept = append(kept, x)
		} else if y := ranges.Simplify(expr.Subst(x, reduce)); !mentionsLoops(y, nest, outside) && hasLoads(y) {
			moved = append(moved, y)
		} else {
			kept = append(kept, x)
		}
	}
	sum, ok := total.Body.Value.(*expr.Binary)
	if !ok || len(moved) == 0 || len(kept) == 0 {
		return refuse("no factor stays the same within a part")
	}
	iters, same := slices.Clone(total.Iters), map[*expr.Var]expr.Expr{}
	for _, it := range b.Iters {
		if it.Reduce {
			continue
		}
		if len(same) == len(total.Iters) || total.Iters[len(same)].Extent != it.Extent {
			return refuse("its parts have other axes")
		}
		same[it.Var] = total.Iters[len(same)].Var
	}
	product := sum.B
	for _, x := range moved {
		x = expr.Rewrite(expr.Subst(x, same), func(e expr.Expr) expr.Expr {
			v, ok := e.(*expr.Var)
			if !ok || outside[v] == nil {
				return e
			}
			for _, it := range iters {
				if it.Reduce && it.Binding == expr.Expr(v) {
					return it.Var
				}
			}
			n, _ := expr.IntOf(outside[v].Extent)
			it := loop.Iter{Var: expr.NewVar(v.Name + ".r"), Extent: int(n), Reduce: true, Binding: v}
			iters = append(iters, it)
			return it.Var
		})
		product = expr.Mul(product, x)
	}
	term := kept[0]
	for _, x := range kept[1:] {
		term = expr.Mul(term, x)
	}
	s.Func.Body = loop.Rewrite(s.Func.Body, func(t loop.Stmt) loop.Stmt {
		switch t {
		case loop.Stmt(b):
			c := *b
			c.Body = &loop.Store{To: b.Body.To, Index: b.Body.Index, Value: &expr.Binary{Op: expr.OpAdd, A: update.A, B: term}}
			return &c
		case loop.Stmt(total):
			c := *total
			c.Iters = iters
			c.Body = &loop.Store{To: c.Body.To, Index: c.Body.Index, Value: &expr.Binary{Op: expr.OpAdd, A: sum.A, B: product}}
			return &c
		}
		return t
	})
	s.log("factor_reduction", block, 0)
	return nil
}

// Factors are those of a product of floats, in their order.
func Factors(e expr.Expr) []expr.Expr {
	if m, ok := e.(*expr.Binary); ok && m.Op == expr.OpMul && m.DType().IsFloat() {
		return append(Factors(m.A), Factors(m.B)...)
	}
	return []expr.Expr{e}
}

// mentionsLoops reports whether e depends on a loop of a nest that is not among those outside.
func mentionsLoops(e expr.Expr, nest []*loop.For, outside map[*expr.Var]*loop.For) bool {
	return slices.ContainsFunc(nest, func(f *loop.For) bool { return outside[f.Var] == nil && expr.Uses(e, f.Var) })
}

func hasLoads(e expr.Expr) bool {
	found := false
	expr.Loads(e, func(*expr.Load) { found = true })
	return found
}
