package sched

import (
	"fmt"
	"slices"

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
			copied, loops = copyOf(buf, scope, u)
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

// holds reports whether a block is inside t.
func holds(t loop.Stmt, b *loop.Block) bool {
	found := false
	loop.Walk(t, func(u loop.Stmt) bool {
		found = found || u == loop.Stmt(b)
		return !found
	})
	return found
}

// copyOf puts the copy of buf before t, which then reads it.
func copyOf(buf *loop.Buffer, scope loop.Scope, t loop.Stmt) (loop.Stmt, []string) {
	to := *buf
	to.Name, to.Scope = buf.Name+".c", scope
	b := &loop.Block{Name: to.Name}
	var index []expr.Expr
	var nest []*loop.For
	var loops []string
	for k, n := range buf.Shape {
		v := expr.NewVar(fmt.Sprintf("a%d", k))
		it := loop.Iter{Var: v, Extent: n, Binding: expr.Index(0)}
		if n > 1 {
			f := &loop.For{Var: expr.NewVar(fmt.Sprintf("%s_a%d", to.Name, k)), Min: expr.Index(0), Extent: expr.Index(n)}
			it.Binding = f.Var
			nest = append(nest, f)
			loops = append(loops, f.Var.Name)
		}
		b.Iters = append(b.Iters, it)
		index = append(index, v)
	}
	b.Body = &loop.Store{To: &to, Index: index, Value: &expr.Load{From: buf, Index: index}}
	var body loop.Stmt = b
	for i := len(nest) - 1; i >= 0; i-- {
		nest[i].Body = body
		body = nest[i]
	}
	t = loop.MapExprs(t, func(e expr.Expr) expr.Expr {
		return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
			if l, ok := x.(*expr.Load); ok && l.From == expr.Source(buf) {
				return &expr.Load{From: &to, Index: l.Index}
			}
			return x
		})
	})
	return &loop.Alloc{Buffer: &to, Body: &loop.Seq{List: append([]loop.Stmt{body}, flatten(t)...)}}, loops
}
