package lower

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
)

// shareLayout gives intermediate stages of the output's shape the output's layout, so that both are computed in one
// order. Inputs keep theirs.
func shareLayout(out *te.Stage) *te.Stage {
	return mapStages(out, func(s *te.Stage) *te.Stage {
		if s.Body != nil && s.Type.Layout != out.Type.Layout && slices.Equal(s.Type.Shape, out.Type.Shape) {
			c := *s
			c.Type.Layout = out.Type.Layout
			return &c
		}
		return s
	})
}

// mapStages replaces every stage of the DAG below out, producers first; f sees stages whose loads are replaced already.
func mapStages(out *te.Stage, f func(*te.Stage) *te.Stage) *te.Stage {
	done := map[*te.Stage]*te.Stage{}
	for _, s := range te.Order(out) {
		r := s
		if s.Body != nil {
			body := expr.Rewrite(s.Body, func(e expr.Expr) expr.Expr {
				if l, ok := e.(*expr.Load); ok {
					if from := done[l.From.(*te.Stage)]; from != l.From {
						return &expr.Load{From: from, Index: l.Index}
					}
				}
				return e
			})
			if body != s.Body {
				c := *s
				c.Body = body
				r = &c
			}
		}
		done[s] = f(r)
	}
	return done[out]
}
