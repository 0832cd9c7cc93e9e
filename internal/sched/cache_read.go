package sched

import (
	"fmt"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
)

// CacheRead makes a block read what another one computes from a copy in the given scope. The copy is made at once, just
// before the reader's nest, by block "copied" with a serial loop per axis; its loops are named after the buffer and the axis.
//
//	alloc X reg { X = ...; for i { Y = f(X[i]) } }
//	→  alloc X reg { X = ...; alloc C worker { for c { C[c] = X[c] }; for i { Y = f(C[i]) } } }
func (s *Schedule) CacheRead(reader, of string, scope loop.Scope) (loops []string, err error) {
	r, _, err := s.block(reader)
	if err != nil {
		return nil, err
	}
	p, _, err := s.block(of)
	if err != nil {
		return nil, err
	}
	buf := p.Body.To
	reads := false
	expr.Loads(r.Body.Value, func(l *expr.Load) { reads = reads || l.From == expr.Source(buf) })
	if !reads {
		return nil, fmt.Errorf("cache_read %s, %s: it does not read %s", reader, of, buf.Name)
	}
	done := false
	s.Func.Body = loop.Rewrite(s.Func.Body, func(t loop.Stmt) loop.Stmt {
		a, ok := t.(*loop.Alloc)
		if !ok || a.Buffer != buf || done {
			return t
		}
		list := flatten(a.Body)
		for i, u := range list {
			if !holds(u, r) || holds(u, p) || !slices.ContainsFunc(list[:i], func(v loop.Stmt) bool { return holds(v, p) }) {
				continue
			}
			var copied loop.Stmt
			copied, loops = copyOf(p, scope, u)
			done = true
			return &loop.Alloc{Buffer: buf, Body: &loop.Seq{List: append(list[:i:i], append([]loop.Stmt{copied}, list[i+1:]...)...)}}
		}
		return t
	})
	if !done {
		return nil, fmt.Errorf("cache_read %s, %s: the reader's nest must follow the other in one sequence below the allocation", reader, of)
	}
	s.log("cache_read", reader, 0, of, scope.String())
	return loops, nil
}

// shifted tells an index that is one of p's spatial variables and what does not depend on p.
func shifted(p *loop.Block, x expr.Expr) (own loop.Iter, base expr.Expr, ok bool) {
	l := arith.LinearOf(x)
	for _, it := range p.Iters {
		c, nonlinear := l.Coef(it.Var)
		switch {
		case c == 0 && !nonlinear:
		case c != 1 || nonlinear || it.Reduce || ok:
			return loop.Iter{}, nil, false
		default:
			own, base, ok = it, l.Without(it.Var).Expr(), true
		}
	}
	return own, base, ok
}

// without lists p's variables that are not known.
func without(p *loop.Block, known map[*expr.Var]expr.Expr) map[*expr.Var]bool {
	rest := map[*expr.Var]bool{}
	for _, it := range p.Iters {
		if known[it.Var] == nil {
			rest[it.Var] = true
		}
	}
	return rest
}

// holds reports whether b is t or inside it.
func holds(t, b loop.Stmt) bool {
	found := false
	loop.Walk(t, func(u loop.Stmt) bool {
		found = found || u == b
		return !found
	})
	return found
}

// copyOf puts a copy of what p computes before t, which then reads it. Where p leaves out what is beyond the domain of one of
// its axes, the copy does.
func copyOf(p *loop.Block, scope loop.Scope, t loop.Stmt) (loop.Stmt, []string) {
	buf := p.Body.To
	to := *buf
	to.Name, to.Scope = buf.Name+".c", scope
	b := &loop.Block{Name: to.Name}
	var index []expr.Expr
	var nest []*loop.For
	var loops []string
	known := map[*expr.Var]expr.Expr{}
	for k, n := range buf.Shape {
		v := expr.NewVar(fmt.Sprintf("a%d", k))
		var at expr.Expr = expr.Index(0)
		if n > 1 {
			f := &loop.For{Var: expr.NewVar(fmt.Sprintf("%s_a%d", to.Name, k)), Min: expr.Index(0), Extent: expr.Index(n)}
			at = f.Var
			nest = append(nest, f)
			loops = append(loops, f.Var.Name)
		}
		it := loop.Iter{Var: v, Extent: n, Binding: at}
		var x expr.Expr = v
		if own, base, ok := shifted(p, p.Body.Index[k]); ok {
			it.Extent, it.Binding = own.Extent, arith.Ranges{}.Simplify(expr.Sub(at, base))
			x, known[own.Var] = expr.Add(v, base), v
		}
		b.Iters = append(b.Iters, it)
		index = append(index, x)
	}
	b.Where = dropConditions(p.Where, without(p, known))
	if b.Where != nil {
		b.Where = expr.Subst(b.Where, known)
	}
	b.Body = &loop.Store{To: &to, Index: index, Value: &expr.Load{From: buf, Index: index}}
	var body loop.Stmt = b
	for i := len(nest) - 1; i >= 0; i-- {
		nest[i].Body = body
		body = nest[i]
	}
	t = loop.MapExprs(t, func(e expr.Expr) expr.Expr { return readsOf(e, buf, &to) })
	return &loop.Alloc{Buffer: &to, Body: &loop.Seq{List: append([]loop.Stmt{body}, flatten(t)...)}}, loops
}
