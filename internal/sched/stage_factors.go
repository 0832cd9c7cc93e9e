package sched

import (
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// StageFactors computes those factors of a block's sum that a loop does not change as a block of their own, in scratch that the sum
// reads: what dequantises weights is done once for all iterations of that loop that are near them, wherever ComputeAt puts it. The axes
// of the scratch are those that the factors have, reductions outside.
//
//	for i { for j { for k { X[i,j] = X[i,j] + f(i,k) * g(j,k) } } }, at i
//	→  alloc G[k,j]; for k { for j { G[k,j] = g(j,k) } }; for i { for j { for k { X[i,j] = X[i,j] + f(i,k) * G[k,j] } } }
//
// The last axis lies in panels of so many elements, or as a whole where panel is 0: G[j/4, k, j%4] of 4. It returns the name of the block.
func (s *Schedule) StageFactors(block, at string, panel int) (string, error) {
	return s.stage("stage_factors", block, at, panel, true)
}

// StageRows is StageFactors with the reductions inside: G[j,k], whose rows are as long as the sum. Rows that lie apart in memory lie together so, wherever ComputeAt puts them.
func (s *Schedule) StageRows(block, at string) (string, error) {
	return s.stage("stage_rows", block, at, 0, false)
}

// stage computes factors as a block of their own, in scratch whose outer axes are the reductions, or whose inner ones are.
func (s *Schedule) stage(primitive, block, at string, panel int, reductionsOutside bool) (string, error) {
	refuse := func(format string, args ...any) (string, error) {
		return "", fmt.Errorf("%s %s, %s: %s", primitive, block, at, fmt.Sprintf(format, args...))
	}
	if panel < 0 {
		return refuse("a panel has at least one element")
	}
	b, nest, err := s.block(block)
	if err != nil {
		return "", err
	}
	name := block + ".g"
	if staged, _, _ := s.block(name); staged != nil {
		return refuse("they are staged already")
	}
	own := slices.IndexFunc(b.Iters, func(it loop.Iter) bool { return it.Var.Name == s.Axis(at).Iter })
	if position(nest, at) < 0 || own < 0 || s.Axis(at).Block != block {
		return refuse("it runs over no axis of the block")
	}
	if loop.Divided(s.Func.Body) {
		return refuse("%v", errDivided)
	}
	update, ok := b.Body.Value.(*expr.Binary)
	if !ok || !loop.IsReduction(b.Body) || update.Op != expr.OpAdd || !update.DType().IsFloat() {
		return refuse("it is no sum of floats")
	}
	changed, staged := FactorsOf(b, b.Iters[own].Var)
	if len(changed) == 0 || len(staged) == 0 {
		return refuse("its factors do not part")
	}
	product := multiplied(staged)
	var other *loop.Buffer
	expr.Loads(product, func(l *expr.Load) {
		if from := l.From.(*loop.Buffer); from.Scope != loop.Global || s.writers(from) > 0 {
			other = from
		}
	})
	if other != nil {
		return refuse("they read %s, which is computed", other.Name)
	}
	buf := &loop.Buffer{Name: name, DType: product.DType(), Scope: loop.Worker}
	copied := &loop.Block{Name: name}
	fresh, index, read := map[*expr.Var]expr.Expr{}, []expr.Expr{}, []expr.Expr{}
	var loops []*loop.For
	axis := func(own string, extent int, at expr.Expr) *expr.Var {
		v := expr.NewVar(own)
		f := &loop.For{Var: expr.NewVar(name + "_" + own), Min: expr.Index(0), Extent: expr.Index(extent)}
		s.axes[f.Var.Name] = Axis{name, own}
		loops, index, read = append(loops, f), append(index, v), append(read, at)
		copied.Iters = append(copied.Iters, loop.Iter{Var: v, Extent: extent, Binding: f.Var})
		buf.Shape = append(buf.Shape, extent)
		return v
	}
	var axes []loop.Iter
	for _, reduce := range []bool{reductionsOutside, !reductionsOutside} {
		for _, it := range b.Iters {
			if it.Reduce == reduce && expr.Uses(product, it.Var) {
				axes = append(axes, it)
			}
		}
	}
	last := axes[len(axes)-1]
	inPanels := panel > 0 && panel < last.Extent
	var panels, whole expr.Expr
	if inPanels {
		n := expr.Index(panel)
		panels = expr.Mul(axis(last.Var.Name+"p", (last.Extent+panel-1)/panel, expr.Bin(expr.OpFloorDiv, last.Var, n)), n)
		axes = axes[:len(axes)-1]
	}
	for _, it := range axes {
		fresh[it.Var] = axis(it.Var.Name, it.Extent, it.Var)
	}
	if inPanels {
		at := expr.Add(panels, axis(last.Var.Name, panel, expr.Bin(expr.OpFloorMod, last.Var, expr.Index(panel))))
		fresh[last.Var] = at
		if last.Extent%panel != 0 {
			whole = expr.Bin(expr.OpLT, at, expr.Index(last.Extent))
		}
	}
	if copied.Where, ok = conditionsOn(b, fresh); !ok {
		return refuse("it is not computed everywhere")
	}
	copied.Where = expr.AllOf(copied.Where, whole)
	copied.Body = &loop.Store{To: buf, Index: index, Value: expr.Subst(product, fresh)}
	var made loop.Stmt = copied
	for _, f := range slices.Backward(loops) {
		f.Body = made
		made = f
	}
	c := *b
	c.Body = &loop.Store{To: b.Body.To, Index: b.Body.Index, Value: &expr.Binary{Op: expr.OpAdd, A: update.A,
		B: multiplied(append(changed, &expr.Load{From: buf, Index: read}))}}
	body := loop.Rewrite(s.Func.Body, func(t loop.Stmt) loop.Stmt {
		if t == loop.Stmt(b) {
			return &c
		}
		return t
	})
	s.Func.Body = &loop.Alloc{Buffer: buf, Body: &loop.Seq{List: append([]loop.Stmt{made}, flatten(body)...)}}
	s.log(primitive, block, panel, at)
	return name, nil
}

// conditionsOn are the conditions of a block on the iteration variables of its that fresh has others for, in terms of these. It fails where
// one is on others as well.
func conditionsOn(b *loop.Block, fresh map[*expr.Var]expr.Expr) (where expr.Expr, ok bool) {
	if b.Where == nil {
		return nil, true
	}
	for _, cond := range arith.Conjuncts(b.Where) {
		inside, outside := false, false
		for _, it := range b.Iters {
			uses := expr.Uses(cond, it.Var)
			inside, outside = inside || uses && fresh[it.Var] != nil, outside || uses && fresh[it.Var] == nil
		}
		if inside && outside {
			return nil, false
		}
		if inside {
			where = expr.AllOf(where, expr.Subst(cond, fresh))
		}
	}
	return where, true
}

// FactorsOf parts the factors of what a block adds by whether they change with one of its axes.
func FactorsOf(b *loop.Block, axis *expr.Var) (changed, same []expr.Expr) {
	update, ok := b.Body.Value.(*expr.Binary)
	if !ok {
		return nil, nil
	}
	for _, x := range Factors(update.B) {
		if expr.Uses(x, axis) {
			changed = append(changed, x)
		} else {
			same = append(same, x)
		}
	}
	return changed, same
}

// multiplied is the product of factors in their order.
func multiplied(factors []expr.Expr) expr.Expr {
	product := factors[0]
	for _, x := range factors[1:] {
		product = expr.Mul(product, x)
	}
	return product
}
