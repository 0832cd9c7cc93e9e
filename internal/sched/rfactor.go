package sched

import (
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// RFactor gives every iteration of an inner reduction loop an accumulator of its own, and folds these once at the end.
// The block's initialisation is decomposed already, and says what the reduction starts from; at is the outermost of its
// reduction loops, whose nest holds only the block. It returns the loops over the accumulators: of the reduction, of their initialisation and of the fold.
//
//	for ro { for ri { X = X + f } }, rfactor ri
//	→  alloc P; for ri { P[ri] = 0 }; for ro { for ri { P[ri] = P[ri] + f } }; for ri { X = X + P[ri] }
func (s *Schedule) RFactor(block, at, inner string) (loops []string, err error) {
	b, nest, err := s.block(block)
	if err != nil {
		return nil, err
	}
	from, to := position(nest, at), position(nest, inner)
	if from < 0 || to < from || b.Init != nil {
		return nil, fmt.Errorf("rfactor %s: %q must be a reduction loop around it, %q be it or one inside, and its initialisation decomposed", block, at, inner)
	}
	if only, _ := onlyBlock(nest[from]); only != b {
		return nil, fmt.Errorf("rfactor %s: loop %s holds more than the block", block, at)
	}
	if err := insideVector(nest[:from]); err != nil {
		return nil, fmt.Errorf("rfactor %s: %w", block, err)
	}
	top, in := nest[from], nest[to]
	init, _, err := s.block(block + "_init")
	if err != nil || init.Body.To != b.Body.To {
		return nil, fmt.Errorf("rfactor %s: nothing initialises %s", block, b.Body.To.Name)
	}
	n, ok := expr.IntOf(in.Extent)
	update, isOp := b.Body.Value.(*expr.Binary)
	if !ok || !expr.IsInt(in.Min, 0) || !isOp {
		return nil, fmt.Errorf("rfactor %s: loop %s is not constant, or the block is no reduction", block, inner)
	}
	identity, ok := expr.Identity(update.Op, init.Body.Value.DType())
	if !ok || !arith.Equal(identity, init.Body.Value) {
		return nil, fmt.Errorf("rfactor %s: it does not start from the identity of %s", block, update.Op)
	}
	for _, f := range nest[from:] {
		for _, it := range b.Iters {
			if !it.Reduce && expr.Uses(it.Binding, f.Var) {
				return nil, fmt.Errorf("rfactor %s: %s is not a reduction loop", block, f.Var.Name)
			}
		}
	}
	p := &loop.Buffer{Name: b.Body.To.Name + "_rf", DType: b.Body.To.DType, Shape: []int{int(n)}, Scope: loop.Reg, Align: 64}
	fold := func(name string) (*expr.Var, *loop.For) {
		v := expr.NewVar(inner + name)
		return v, &loop.For{Var: v, Min: expr.Index(0), Extent: in.Extent}
	}

	zv, zero := fold(".z")
	zi := expr.NewVar("l")
	zero.Body = &loop.Block{Name: block + "_rf_init", Iters: []loop.Iter{{Var: zi, Extent: int(n), Binding: zv}},
		Body: &loop.Store{To: p, Index: []expr.Expr{zi}, Value: identity}}

	partial := *b
	partial.Name = block + "_rf"
	lane := expr.NewVar("l")
	partial.Iters = append(slices.Clone(b.Iters), loop.Iter{Var: lane, Extent: int(n), Binding: in.Var})
	slot := []expr.Expr{lane}
	partial.Body = &loop.Store{To: p, Index: slot, Value: &expr.Binary{Op: update.Op, A: &expr.Load{From: p, Index: slot}, B: update.B}}
	main := loop.Rewrite(top, func(t loop.Stmt) loop.Stmt {
		if t == loop.Stmt(b) {
			return &partial
		}
		return t
	})

	fv, last := fold(".f")
	last.Body = foldOf(b, update, p, fv)

	s.replace(top, &loop.Alloc{Buffer: p, Body: &loop.Seq{List: []loop.Stmt{zero, main, last}}})
	s.inherit(inner, zv.Name, fv.Name)
	s.log("rfactor", block, 0, at, inner)
	return []string{inner, zv.Name, fv.Name}, nil
}

// foldOf is block b as a reduction of what lies in p, which v counts, by b's update.
func foldOf(b *loop.Block, update *expr.Binary, p *loop.Buffer, v *expr.Var) *loop.Block {
	whole := &loop.Block{Name: b.Name}
	reduces := map[*expr.Var]bool{}
	for _, it := range b.Iters {
		if it.Reduce {
			reduces[it.Var] = true
		} else {
			whole.Iters = append(whole.Iters, it)
		}
	}
	whole.Where = dropConditions(b.Where, reduces)
	i := expr.NewVar("l")
	whole.Iters = append(whole.Iters, loop.Iter{Var: i, Extent: p.Shape[0], Reduce: true, Binding: v})
	whole.Body = &loop.Store{To: b.Body.To, Index: b.Body.Index,
		Value: &expr.Binary{Op: update.Op, A: update.A, B: &expr.Load{From: p, Index: []expr.Expr{i}}}}
	return whole
}
