package lower

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/types"
)

// groupAxes makes groups of channels an axis of their own: where the group of an axis, a quotient, says which elements a
// convolution reads, the axis is split, so that lanes and vectors are channels of one group and all addresses are linear in them.
// Memory does not change. Groups of whole blocks, or without blocks, are split by group; others by the largest number of channels
// that fills groups and blocks, so that several groups of a block are vectors of their own. So are operands that are read by group.
//
//	y[n, o, h, w] = sum(x[n, o/32*32 + c, ...] * w[o, c, ...])  of layout ABCD16b
//	→  y[n, g, o, h, w] of ABCDE16c      groups of 32
//	→  y[n, b, o, h, w] of ABDE2bC       groups of 24: o in 0..8, the group is b/3
func groupAxes(out *te.Stage) *te.Stage {
	g, ok := groupOf(out)
	if !ok {
		return out
	}
	order := te.Order(out)
	ranges := arith.Ranges{}
	from := map[*te.Stage]grouping{} // operands that are read by group
	for _, s := range order {
		for i, a := range s.Axes {
			ranges[a] = arith.Span(s.Type.Shape[i])
		}
		for _, r := range s.Reduce {
			ranges[r.Var] = arith.Span(r.Extent)
		}
		if s.Tag == te.Convolution {
			readsOf(s, from)
		}
	}
	split := map[*te.Stage]grouping{} // by stages with an axis split
	return mapStages(out, func(l *expr.Load) expr.Expr {
		h, ok := split[l.From.(*te.Stage)]
		if !ok {
			return l
		}
		x, n := l.Index[h.axis], expr.Index(h.each)
		parts := []expr.Expr{ranges.Simplify(expr.Bin(expr.OpFloorDiv, x, n)), ranges.Simplify(expr.Bin(expr.OpFloorMod, x, n))}
		return &expr.Load{From: l.From, Index: slices.Concat(l.Index[:h.axis], parts, l.Index[h.axis+1:])}
	}, func(s *te.Stage) *te.Stage {
		if h, ok := from[s]; ok {
			c := *s
			c.Type = h.split(s.Type)
			split[&c] = h
			return &c
		}
		if s.Body == nil || s.Type.Layout != out.Type.Layout || !slices.Equal(s.Type.Shape, out.Type.Shape) {
			return s
		}
		c := g.stage(s)
		split[c] = g
		return c
	})
}

// readsOf finds the operands of a sum that it reads at group*n + c, for c of n channels of a blocked axis.
func readsOf(s *te.Stage, from map[*te.Stage]grouping) {
	expr.Loads(s.Body, func(l *expr.Load) {
		x := l.From.(*te.Stage)
		for i, index := range l.Index {
			block := x.Type.Layout.BlockOf(i, len(l.Index))
			sum := arith.LinearOf(index)
			if x.Body != nil || block == 0 || len(sum.Terms) != 2 {
				continue
			}
			for _, r := range s.Reduce {
				if n, _ := sum.Coef(r.Var); n == 1 && x.Type.Shape[i]%r.Extent == 0 {
					if g := groupsOf(i, r.Extent, block); g.each > 1 {
						from[x] = g
					}
				}
			}
		}
	})
}

// groupsOf is how an axis of groups is split that is laid out in blocks: by groups if they are whole blocks.
func groupsOf(axis, group, block int) grouping {
	if block > 0 && group%block != 0 {
		return grouping{axis, group, arith.GCD(group, block)}
	}
	return grouping{axis, group, group}
}

// A grouping is how an axis is split: into neighbours of so many elements, of which a group has a whole number.
type grouping struct{ axis, group, each int }

// groupOf finds the axis of out to split, by whose quotients a convolution below reads. Kernels of strips keep theirs.
func groupOf(out *te.Stage) (g grouping, ok bool) {
	for _, s := range te.Order(out) {
		if s.Tag == Strips {
			return g, false
		}
		if s.Tag != te.Convolution || !slices.Equal(s.Type.Shape, out.Type.Shape) || s.Type.Layout != out.Type.Layout {
			continue
		}
		expr.Loads(s.Body, func(l *expr.Load) {
			for _, x := range l.Index {
				expr.Walk(x, func(e expr.Expr) bool {
					if n, i := quotientOf(e, s.Axes); i >= 0 {
						g, ok = groupsOf(i, n, out.Type.Layout.BlockOf(i, len(out.Type.Shape))), true
					}
					return true
				})
			}
		})
	}
	if !ok {
		return g, false
	}
	return g, g.each > 1 && out.Type.Shape[g.axis]%g.group == 0
}

// quotientOf is the divisor of a quotient of one of the axes, and that axis; -1 where e is none.
func quotientOf(e expr.Expr, axes []*expr.Var) (n, axis int) {
	q, ok := e.(*expr.Binary)
	if !ok || q.Op != expr.OpFloorDiv {
		return 0, -1
	}
	v, isVar := q.A.(*expr.Var)
	c, isInt := expr.IntOf(q.B)
	if !isVar || !isInt {
		return 0, -1
	}
	return int(c), slices.Index(axes, v)
}

// stage is s with its axis split. Lanes beyond the last group read what those of it do.
func (g grouping) stage(s *te.Stage) *te.Stage {
	c := *s
	c.Type = g.split(s.Type)
	outer, inner := expr.NewVar(s.Axes[g.axis].Name), expr.NewVar(s.Axes[g.axis].Name)
	c.Axes = slices.Concat(s.Axes[:g.axis], []*expr.Var{outer, inner}, s.Axes[g.axis+1:])
	var at expr.Expr = outer
	if n := s.Type.Shape[g.axis] / g.each; s.Type.Layout.Padded(s.Type.Shape) {
		at = expr.Min(outer, expr.Index(n-1))
	}
	body := expr.Rewrite(s.Body, func(e expr.Expr) expr.Expr {
		if n, i := quotientOf(e, s.Axes); i == g.axis && n%g.each == 0 {
			if n == g.each {
				return at
			}
			return expr.Bin(expr.OpFloorDiv, at, expr.Index(n/g.each))
		}
		return e
	})
	body = expr.Subst(body, map[*expr.Var]expr.Expr{s.Axes[g.axis]: expr.Add(expr.Mul(at, expr.Index(g.each)), inner)})
	c.Body = expr.Rewrite(body, func(e expr.Expr) expr.Expr {
		if l, ok := e.(*expr.Load); ok && l.From.(*te.Stage).Body != nil && len(l.Index) > g.axis && l.Index[g.axis] == at { // it has these lanes too
			return &expr.Load{From: l.From, Index: slices.Concat(l.Index[:g.axis], []expr.Expr{outer}, l.Index[g.axis+1:])}
		}
		return e
	})
	return &c
}

// split is t with its axis as two, of the same memory.
func (g grouping) split(t types.Tensor) types.Tensor {
	rank := len(t.Shape)
	block := t.Layout.BlockOf(g.axis, rank)
	var to []byte
	for _, p := range t.Layout.Parts(rank) {
		switch {
		case p.Axis != g.axis:
			axis := p.Axis
			if axis > g.axis {
				axis++
			}
			to = types.Part{Axis: axis, Block: p.Block, Inner: p.Inner}.Append(to)
		case block == 0:
			to = types.Part{Axis: g.axis + 1}.Append(types.Part{Axis: g.axis}.Append(to))
		case g.each%block == 0 && p.Inner:
			to = types.Part{Axis: g.axis + 1, Block: block, Inner: true}.Append(to)
		case g.each%block == 0:
			to = types.Part{Axis: g.axis}.Append(to)
			to = types.Part{Axis: g.axis + 1, Block: block}.Append(to)
		case p.Inner:
			to = types.Part{Axis: g.axis, Block: block / g.each, Inner: true}.Append(to)
			to = types.Part{Axis: g.axis + 1}.Append(to)
		default:
			to = types.Part{Axis: g.axis, Block: block / g.each}.Append(to)
		}
	}
	shape := slices.Concat(t.Shape[:g.axis], []int{t.Shape[g.axis] / g.each, g.each}, t.Shape[g.axis+1:])
	if t.Layout == "" {
		return types.Of(t.DType, shape...)
	}
	return types.Tensor{DType: t.DType, Shape: shape, Layout: types.Layout(to)}
}
