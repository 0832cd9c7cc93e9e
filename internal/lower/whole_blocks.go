package lower

import (
	"lathe/internal/expr"
	"lathe/internal/te"
)

// wholeBlocks lets integer sums of products run over whole blocks of a padded operand: the lanes beyond its extent hold
// zeros, which add nothing, whatever the other factor holds there.
//
//	x: uint8[1,3,9,9]:ABCD4b, w: int8[8,3,3,3]:ABCD4b:  sum over c in 0..3  →  sum over c in 0..4
func wholeBlocks(out *te.Stage) *te.Stage {
	return mapStages(out, nil, func(s *te.Stage) *te.Stage {
		c := *s
		c.Reduce = append([]te.Axis(nil), s.Reduce...)
		for i, r := range c.Reduce {
			c.Reduce[i].Extent = blocks(s, r)
		}
		return &c
	})
}

// blocks is the extent of the reduction axis r of s in whole blocks.
func blocks(s *te.Stage, r te.Axis) int {
	if s.Combine != te.Sum || s.Type.DType.IsFloat() {
		return r.Extent
	}
	return wholeExtent(s.Body, r)
}

// wholeExtent is the extent of r rounded up to the smallest block of the factors along it, when all of them have it.
func wholeExtent(body expr.Expr, r te.Axis) int {
	if sel, ok := body.(*expr.Select); ok && expr.IsInt(sel.B, 0) {
		if expr.Uses(sel.Cond, r.Var) {
			return r.Extent
		}
		body = sel.A
	}
	m, ok := body.(*expr.Binary)
	if !ok || m.Op != expr.OpMul {
		return r.Extent
	}
	n := 0
	for _, factor := range []expr.Expr{m.A, m.B} {
		block := blockAlong(factor, r)
		if block == 0 {
			return r.Extent
		}
		if end := (r.Extent + block - 1) / block * block; n == 0 || end < n {
			n = end
		}
	}
	return n
}

// blockAlong is the block of the axis that a widened load walks with r, from end to end; 0 when there is none.
func blockAlong(factor expr.Expr, r te.Axis) int {
	c, ok := factor.(*expr.Cast)
	if !ok || !c.A.DType().IsInt() || c.To.IsFloat() {
		return 0
	}
	l, ok := c.A.(*expr.Load)
	if !ok {
		return 0
	}
	block := 0
	s := l.From.(*te.Stage)
	for i, x := range l.Index {
		switch {
		case x == expr.Expr(r.Var) && block == 0 && s.Body == nil && s.Type.Shape[i] == r.Extent:
			block = s.Type.Layout.BlockOf(i, len(l.Index))
			if block == 0 {
				return 0
			}
		case expr.Uses(x, r.Var):
			return 0
		}
	}
	return block
}
