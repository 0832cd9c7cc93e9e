package lower

import (
	"lathe/internal/expr"
	"lathe/internal/te"
)

// inline rewrites the DAG below out so that every pointwise stage is gone: its body stands where it was loaded. Stages
// with reductions stay, and so do pointwise stages for which keep holds.
func inline(out *te.Stage, keep func(*te.Stage) bool) *te.Stage {
	return mapStages(out, func(l *expr.Load) expr.Expr {
		if from := l.From.(*te.Stage); from.Body != nil && len(from.Reduce) == 0 && !keep(from) {
			return element(from, l.Index)
		}
		return l
	}, nil)
}

// element is the value a load of s at index gives: s's body there. A 16-bit float is storage: inlined, it keeps the
// compute type's precision, as if the value never left registers. Variables that the body binds are fresh in every copy.
func element(s *te.Stage, index []expr.Expr) expr.Expr {
	m := map[*expr.Var]expr.Expr{}
	for i, v := range s.Axes {
		m[v] = index[i]
	}
	return freshLets(expr.Subst(s.Body, m))
}

func freshLets(e expr.Expr) expr.Expr {
	fresh := map[*expr.Var]expr.Expr{}
	expr.Walk(e, func(x expr.Expr) bool {
		if l, ok := x.(*expr.Let); ok {
			v := *l.Var
			fresh[l.Var] = &v
		}
		return true
	})
	if len(fresh) == 0 {
		return e
	}
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.Var:
			if v, ok := fresh[x]; ok {
				return v
			}
		case *expr.Let:
			if v, ok := fresh[x.Var]; ok {
				return &expr.Let{Var: v.(*expr.Var), Value: x.Value, Body: x.Body}
			}
		}
		return x
	})
}

// fold replaces loads of constant stages of one value by that value.
func fold(out *te.Stage, value func(*te.Stage) (expr.Expr, bool)) *te.Stage {
	return mapStages(out, func(l *expr.Load) expr.Expr {
		if v, ok := value(l.From.(*te.Stage)); ok {
			return v
		}
		return l
	}, nil)
}
