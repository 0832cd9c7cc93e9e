package lower

import (
	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/te"
)

// normalize simplifies every stage's body over its axes and drops reduction axes of one value: the taps of a 1x1
// convolution, a channel group of one. One that fills no whole block is widened, as wholeBlocks does with all others.
func normalize(out *te.Stage) *te.Stage {
	return mapStages(out, nil, func(s *te.Stage) *te.Stage {
		if s.Body == nil {
			return s
		}
		c := *s
		c.Reduce = nil
		ranges, single := arith.Ranges{}, map[*expr.Var]expr.Expr{}
		for i, a := range s.Axes {
			// The axis itself stays in place even when it has one value: merging axes looks for it.
			if s.Type.Shape[i] > 1 {
				ranges[a] = arith.Span(s.Type.Shape[i])
			}
		}
		c.Body = ranges.Simplify(s.Body)
		for _, r := range s.Reduce {
			if r.Extent == 1 {
				r.Extent = blocks(&c, r)
			}
			if r.Extent == 1 {
				single[r.Var] = expr.Index(0)
				continue
			}
			c.Reduce = append(c.Reduce, r)
			ranges[r.Var] = arith.Span(r.Extent)
		}
		if len(c.Reduce) == 0 {
			c.Combine = te.None
		}
		c.Body = ranges.Simplify(expr.Subst(c.Body, single))
		return &c
	})
}
