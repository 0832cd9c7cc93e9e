package sched

import (
	"fmt"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// Tensorize replaces the innermost loop around a block, a reduction that adds products of bytes, in four steps, or of bytes by
// int16, in two, in int32, by a Dot. Each operand advances by one element of one axis per step.
//
//	for j in 0..4 { C += int32(A[4*q + j]) * int32(B[4*q + j]) }  →  C += dot4(A[4*q], 0, B[4*q], 0)
func (s *Schedule) Tensorize(block, name string) error {
	b, nest, err := s.block(block)
	if err != nil {
		return err
	}
	f := innermost(nest, b)
	if f == nil || f.Var.Name != name || f.Kind != loop.Serial || !expr.IsInt(f.Min, 0) {
		return fmt.Errorf("tensorize %s: %q is not a serial loop directly around it", block, name)
	}
	d, cond, err := dotOf(b, f, rangesAt(nest))
	if err != nil {
		return fmt.Errorf("tensorize %s, %s: %w", block, name, err)
	}
	c := *b
	c.Iters = append([]loop.Iter(nil), b.Iters...)
	for i := range c.Iters {
		c.Iters[i].Binding = arith.Ranges{}.Simplify(expr.Subst(c.Iters[i].Binding, map[*expr.Var]expr.Expr{f.Var: expr.Index(0)}))
	}
	old := b.Body.Value.(*expr.Binary).A
	c.Body = &loop.Store{To: b.Body.To, Index: b.Body.Index, Value: expr.Add(old, expr.If(cond, d, expr.Const(types.I32, 0)))}
	s.replace(f, &c)
	s.log("tensorize", block, 0, name)
	return nil
}

// innermost is the last of the loops when b is all of its body, or nil.
func innermost(nest []*loop.For, b *loop.Block) *loop.For {
	if len(nest) == 0 || nest[len(nest)-1].Body != loop.Stmt(b) {
		return nil
	}
	return nest[len(nest)-1]
}

// dotOf is what the steps of f add to the target of b, and the condition under which they do; nil: always.
func dotOf(b *loop.Block, f *loop.For, ranges arith.Ranges) (d *expr.Dot, cond expr.Expr, err error) {
	if !loop.IsReduction(b.Body) || b.Body.Value.(*expr.Binary).Op != expr.OpAdd || b.Body.To.DType != types.I32 {
		return nil, nil, fmt.Errorf("it is no sum in int32")
	}
	term := b.Body.Value.(*expr.Binary).B
	if sel, ok := term.(*expr.Select); ok && expr.IsInt(sel.B, 0) {
		cond, term = sel.Cond, sel.A
	}
	m, ok := term.(*expr.Binary)
	if !ok || m.Op != expr.OpMul {
		return nil, nil, fmt.Errorf("it adds no product")
	}
	d, bind := &expr.Dot{}, b.Bindings()
	if d.A, d.AxisA, err = dotOperand(m.A, f.Var, bind, ranges); err != nil {
		return nil, nil, err
	}
	if d.B, d.AxisB, err = dotOperand(m.B, f.Var, bind, ranges); err != nil {
		return nil, nil, err
	}
	width := d.Width()
	if width == 0 || !expr.IsInt(f.Extent, int64(width)) {
		return nil, nil, fmt.Errorf("%s steps of %s and %s make no dot product", expr.String(f.Extent), d.A.From.Elem(), d.B.From.Elem())
	}
	for _, it := range b.Iters {
		if !expr.Uses(it.Binding, f.Var) {
			continue
		}
		rest, inside := arith.LinearOf(ranges.Simplify(it.Binding)).Coef(f.Var)
		if !it.Reduce || rest != 1 || inside || it.Extent%width != 0 || !stepsOfDot(it.Binding, f.Var, width, ranges) {
			return nil, nil, fmt.Errorf("%s does not run over whole groups of %d", it.Var.Name, width)
		}
		if cond != nil && expr.Uses(cond, it.Var) || b.Where != nil && !onlyDomain(b.Where, it) {
			return nil, nil, fmt.Errorf("a condition depends on %s", it.Var.Name)
		}
	}
	return d, cond, nil
}

// stepsOfDot reports whether binding is v plus a multiple of a dot's width.
func stepsOfDot(binding expr.Expr, v *expr.Var, width int, ranges arith.Ranges) bool {
	l := arith.LinearOf(ranges.Simplify(binding)).Without(v)
	for _, t := range l.Terms {
		if t.Coef%int64(width) != 0 {
			return false
		}
	}
	return l.Const%int64(width) == 0
}

// onlyDomain reports whether each condition on it keeps it in its domain, which no group leaves halfway.
func onlyDomain(where expr.Expr, it loop.Iter) bool {
	for _, c := range arith.Conjuncts(where) {
		low, high := expr.GE(it.Var, expr.Index(0)), expr.LT(it.Var, expr.Index(it.Extent))
		if expr.Uses(c, it.Var) && !arith.Equal(c, low) && !arith.Equal(c, high) {
			return false
		}
	}
	return true
}

// dotOperand is the load of a factor that the steps of v read ahead along one axis.
func dotOperand(factor expr.Expr, v *expr.Var, bind map[*expr.Var]expr.Expr, ranges arith.Ranges) (l *expr.Load, axis int, err error) {
	c, ok := factor.(*expr.Cast)
	if ok {
		l, ok = c.A.(*expr.Load)
	}
	if !ok || expr.WidthOfDot(l.From.Elem(), types.I8) == 0 {
		return nil, 0, fmt.Errorf("%s is no load of 8 or 16 bits", expr.String(factor))
	}
	if b, ok := l.From.(*loop.Buffer); !ok || b.Scope != loop.Global {
		return nil, 0, fmt.Errorf("%s is not in memory", l.From.Label())
	}
	axis = -1
	for i, x := range l.Index {
		n, inside := arith.LinearOf(ranges.Simplify(expr.Subst(x, bind))).Coef(v)
		switch {
		case inside || n != 0 && (n != 1 || axis >= 0):
			return nil, 0, fmt.Errorf("%s does not advance by one element", expr.String(l))
		case n == 1:
			axis = i
		}
	}
	if axis < 0 {
		return nil, 0, fmt.Errorf("%s does not depend on the loop", expr.String(l))
	}
	return l, axis, nil
}
