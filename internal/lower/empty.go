package lower

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/types"
)

// withoutEmpty removes loops that never run, so that no schedule has to ask for them: a reduction over an axis of no
// elements is its identity everywhere, and an element of a stage that has none is never needed, whatever stands for it.
//
//	s = sum over k in 0..0 of x[i, k]   →   s = 0
func withoutEmpty(out *te.Stage) *te.Stage {
	never := func(l *expr.Load) expr.Expr {
		if from := l.From.(*te.Stage); types.Count(from.Type.Shape) == 0 {
			return expr.Const(l.DType(), 0)
		}
		return l
	}
	return mapStages(out, never, func(s *te.Stage) *te.Stage {
		if !slices.ContainsFunc(s.Reduce, func(r te.Axis) bool { return r.Extent == 0 }) {
			return s
		}
		c := *s
		c.Body, c.Reduce, c.Combine = s.Combine.Identity(s.Body.DType()), nil, te.None
		return &c
	})
}
