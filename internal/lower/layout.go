package lower

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
)

// shareLayout gives intermediate stages of the output's shape the output's layout, so that both are computed in one
// order, and those of the shape of strips theirs. Inputs keep theirs.
func shareLayout(out *te.Stage) *te.Stage {
	models := []*te.Stage{out}
	for _, s := range te.Order(out) {
		if s.Tag == Strips {
			models = append(models, s)
		}
	}
	return mapStages(out, nil, func(s *te.Stage) *te.Stage {
		i := slices.IndexFunc(models, func(m *te.Stage) bool { return slices.Equal(s.Type.Shape, m.Type.Shape) })
		if s.Body != nil && i >= 0 && s.Type.Layout != models[i].Type.Layout {
			c := *s
			c.Type.Layout = models[i].Type.Layout
			return &c
		}
		return s
	})
}

// mapStages rebuilds the DAG below out, producers first. load, which may be nil, replaces loads; they are of rebuilt
// stages. stage, which may be nil, replaces stages. Stages that do not change keep their identity.
func mapStages(out *te.Stage, load func(*expr.Load) expr.Expr, stage func(*te.Stage) *te.Stage) *te.Stage {
	done := map[*te.Stage]*te.Stage{}
	for _, s := range te.Order(out) {
		r := s
		if s.Body != nil {
			body := expr.Rewrite(s.Body, func(e expr.Expr) expr.Expr {
				l, ok := e.(*expr.Load)
				if !ok {
					return e
				}
				if from := done[l.From.(*te.Stage)]; from != l.From {
					l = &expr.Load{From: from, Index: l.Index}
				}
				if load == nil {
					return l
				}
				return load(l)
			})
			if body != s.Body {
				c := *s
				c.Body = body
				r = &c
			}
		}
		if stage != nil {
			r = stage(r)
		}
		done[s] = r
	}
	return done[out]
}
