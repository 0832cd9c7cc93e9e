package lower

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/te"
)

// inline rewrites the DAG below out so that every pointwise stage is gone: its body stands where it was loaded. Stages
// with reductions stay, and so do pointwise stages for which keep holds. An element that a body needs several times is
// computed once and bound to a variable.
//
//	e = exp(a); y = e[i] / (1 + e[i])   →   y = let e = exp(a[i]) in e / (1 + e)
func inline(out *te.Stage, keep func(*te.Stage) bool) *te.Stage {
	order := te.Order(out)
	gone := func(s *te.Stage) bool { return s != out && s.Body != nil && len(s.Reduce) == 0 && !keep(s) }
	done := map[*te.Stage]*te.Stage{} // what stays, rebuilt
	for i, s := range order {
		if gone(s) {
			continue
		}
		done[s] = s
		if s.Body == nil {
			continue
		}
		body := s.Body
		for _, from := range slices.Backward(order[:i]) { // readers first: then all loads of a stage are in sight
			if gone(from) {
				body = inlineStage(body, from)
			}
		}
		body = expr.Rewrite(body, func(e expr.Expr) expr.Expr {
			if l, ok := e.(*expr.Load); ok && done[l.From.(*te.Stage)] != l.From {
				return &expr.Load{From: done[l.From.(*te.Stage)], Index: l.Index}
			}
			return e
		})
		if body != s.Body {
			c := *s
			c.Body = body
			done[s] = &c
		}
	}
	return done[out]
}

// inlineStage replaces the loads of s in e, element by element.
func inlineStage(e expr.Expr, s *te.Stage) expr.Expr {
	for {
		var load *expr.Load
		expr.Loads(e, func(l *expr.Load) {
			if l.From == expr.Source(s) {
				load = l // the innermost last: no other element's index waits inside it
			}
		})
		if load == nil {
			return e
		}
		e = inlineElement(e, s, load.Index)
	}
}

// inlineElement replaces the loads of one element of s in e. Where several operands of a sub-expression need it, and
// one of them in any case, a variable holds it there. Arms of a selection are apart: what one of them guards
// is computed in that arm.
func inlineElement(e expr.Expr, s *te.Stage, index []expr.Expr) expr.Expr {
	is := func(x expr.Expr) bool {
		l, ok := x.(*expr.Load)
		return ok && l.From == expr.Source(s) && slices.EqualFunc(l.Index, index, arith.Equal)
	}
	if is(e) {
		return element(s, index)
	}
	needed, children := 0, expr.Children(e)
	for _, c := range children {
		if needs(c, is) {
			needed++
		}
	}
	switch {
	case needed == 0:
		return e
	case needed > 1 && certain(e, is):
		value := element(s, index)
		switch value.(type) {
		case *expr.Load, *expr.Var, *expr.Int, *expr.Float:
		default:
			v := &expr.Var{Name: s.Name, Type: value.DType()}
			body := expr.Rewrite(e, func(x expr.Expr) expr.Expr {
				if is(x) {
					return v
				}
				return x
			})
			return &expr.Let{Var: v, Value: value, Body: body}
		}
	}
	return expr.MapChildren(e, func(c expr.Expr) expr.Expr { return inlineElement(c, s, index) })
}

// needs reports whether is holds for a part of e.
func needs(e expr.Expr, is func(expr.Expr) bool) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		found = found || is(x)
		return !found
	})
	return found
}

// certain reports whether evaluating e evaluates such a part whatever selections choose.
func certain(e expr.Expr, is func(expr.Expr) bool) bool {
	if s, ok := e.(*expr.Select); ok {
		return certain(s.Cond, is)
	}
	return is(e) || slices.ContainsFunc(expr.Children(e), func(c expr.Expr) bool { return certain(c, is) })
}

// element is the value a load of s at index gives: s's body there. A 16-bit float is storage: inlined, it keeps the
// compute type's precision, as if the value never left registers; where a model rounds, its cast is part of the body. Variables that the body binds are fresh in every copy.
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
