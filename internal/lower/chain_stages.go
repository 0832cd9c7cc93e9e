package lower

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/types"
)

// rebuilt is s with operands in stages of their own and padded rows; the stages it reads are rebuilt.
func (c *chained) rebuilt(s *te.Stage) *te.Stage {
	switch {
	case s.Body == nil:
		return s
	case s == c.first.Stage:
		return c.firstProduct()
	case s == c.second.Stage:
		return c.secondProduct()
	}
	r := *s
	r.Body = expr.Rewrite(s.Body, func(e expr.Expr) expr.Expr {
		if l, ok := e.(*expr.Load); ok {
			return &expr.Load{From: c.done[l.From.(*te.Stage)], Index: l.Index}
		}
		return e
	})
	switch {
	case c.folds[s]:
		r.Reduce = []te.Axis{{Var: s.Reduce[0].Var, Extent: c.padded}}
	case c.wide[s]:
		r.Type = c.paddedRow(s)
		if c.kept(s) {
			c.keep(&r, s)
		}
	}
	return &r
}

func (c *chained) paddedRow(s *te.Stage) types.Tensor {
	shape := slices.Clone(s.Type.Shape)
	shape[len(shape)-1] = c.padded
	return types.Of(s.Type.DType, shape...)
}

// keep makes r, rebuilt from s, a row that stays.
func (c *chained) keep(r, s *te.Stage) {
	if r.Tag = Scores; s == c.second.left.From {
		r.Tag = Weights
	}
	if c.padded > c.keys && !c.vanishes(s) {
		r.Body = expr.If(expr.LT(r.Axes[len(r.Axes)-1], expr.Index(c.keys)), r.Body, c.padding(s))
	}
}

// vanishes reports whether s is exp(t - most) where t, its padding -Inf, is a row that stays and most its maximum: then the
// padding of s is 0 by itself. Where most is not finite and less than +Inf, all of the row is NaN.
func (c *chained) vanishes(s *te.Stage) bool {
	e, ok := s.Body.(*expr.Unary)
	if !ok || e.Fn != expr.FnExp && e.Fn != expr.FnExpNeg {
		return false
	}
	load, ok := e.A.(*expr.Load)
	if !ok || len(c.readers[load.From.(*te.Stage)]) != 1 {
		return false
	}
	shifted, ok := load.From.(*te.Stage).Body.(*expr.Binary)
	if !ok || shifted.Op != expr.OpSub {
		return false
	}
	row, ok1 := shifted.A.(*expr.Load)
	most, ok2 := shifted.B.(*expr.Load)
	if !ok1 || !ok2 {
		return false
	}
	t, m := row.From.(*te.Stage), most.From.(*te.Stage)
	if m.Combine != te.Max && m.Combine != te.Greater || !c.wide[t] || !slices.Contains(c.readers[t], m) || c.copied == nil && !c.kept(t) {
		return false
	}
	read, ok := m.Body.(*expr.Load)
	return ok && read.From == expr.Source(t)
}

// inPlace reports whether an operand lies in memory as rows of y along x, to be read where it is.
func inPlace(l *expr.Load, x, y *expr.Var) bool {
	n := len(l.Index)
	from := l.From.(*te.Stage)
	return from.Body == nil && from.Type.Layout == "" && n >= 2 && l.Index[n-2] == expr.Expr(x) && l.Index[n-1] == expr.Expr(y)
}

// operand is an operand l of product p as a stage over the product's outer axes and x and y, of the given extents.
func (c *chained) operand(p *product, l *expr.Load, role string, x, y *expr.Var, extents ...int) *te.Stage {
	outer := len(p.Axes) - 2
	shape := append(slices.Clone(p.Type.Shape[:outer]), extents...)
	s := te.Compute(role, types.Of(types.F32, shape...), func(i []expr.Expr) expr.Expr {
		bind := map[*expr.Var]expr.Expr{x: i[outer], y: i[outer+1]}
		for j, a := range p.Axes[:outer] {
			bind[a] = i[j]
		}
		return expr.Subst(&expr.Load{From: c.done[l.From.(*te.Stage)], Index: l.Index}, bind)
	})
	s.Tag = role
	return s
}

// firstProduct reads queries and keys; the columns beyond the keys are zero.
func (c *chained) firstProduct() *te.Stage {
	p, n := c.first, len(c.first.Axes)
	depth := p.Reduce[0].Extent
	row, column, r := p.Axes[n-2], p.Axes[n-1], p.Reduce[0].Var
	rows := c.operand(p, p.left, Queries, row, r, p.Type.Shape[n-2], depth)
	if inPlace(p.left, row, r) {
		rows.Tag = "" // inlined
	}
	columns := c.operand(p, p.right, Keys, r, column, depth, c.padded)
	if c.padded > c.keys {
		columns.Body = expr.If(expr.LT(columns.Axes[n-1], expr.Index(c.keys)), columns.Body, expr.Const(types.F32, 0))
	}
	s := te.Fold(p.Name, c.paddedRow(p.Stage), te.Sum, []int{depth}, func(i, r []expr.Expr) expr.Expr {
		batch := i[: n-2 : n-2]
		return expr.Mul(rows.At(append(batch, i[n-2], r[0])...), columns.At(append(batch, r[0], i[n-1])...))
	})
	s.Tag = Product
	if c.copied == nil {
		return s
	}
	copied := te.Compute(Scores, s.Type, func(i []expr.Expr) expr.Expr { return s.At(i...) })
	c.keep(copied, c.copied)
	return copied
}

// secondProduct reads weights and values.
func (c *chained) secondProduct() *te.Stage {
	p, n := c.second, len(c.second.Axes)
	values := c.operand(p, p.right, Values, p.Reduce[0].Var, p.Axes[n-1], c.keys, p.Type.Shape[n-1])
	if inPlace(p.right, p.Reduce[0].Var, p.Axes[n-1]) {
		values.Tag = "" // inlined
	}
	weights := c.done[p.left.From.(*te.Stage)]
	s := te.Fold(p.Name, p.Type, te.Sum, []int{c.keys}, func(i, r []expr.Expr) expr.Expr {
		return expr.Mul(weights.At(append(i[:n-1:n-1], r[0])...), values.At(append(i[:n-2:n-2], r[0], i[n-1])...))
	})
	s.Tag = Context
	return s
}

// stays reports whether a pointwise stage has a role for which it is computed once.
func stays(s *te.Stage) bool {
	return slices.Contains([]string{Queries, Keys, Scores, Weights, Values, Strips}, s.Tag)
}
