package loop

import "lathe/internal/expr"

// Walk calls f for s and, while f returns true, for the statements in it.
func Walk(s Stmt, f func(Stmt) bool) {
	if s == nil || !f(s) {
		return
	}
	switch s := s.(type) {
	case *Seq:
		for _, t := range s.List {
			Walk(t, f)
		}
	case *For:
		Walk(s.Body, f)
	case *If:
		Walk(s.Then, f)
		if s.Else != nil {
			Walk(s.Else, f)
		}
	case *Let:
		Walk(s.Body, f)
	case *Alloc:
		Walk(s.Body, f)
	}
}

// Divided reports whether a parallel loop stands in s: every worker runs it.
func Divided(s Stmt) bool {
	found := false
	Walk(s, func(t Stmt) bool {
		f, ok := t.(*For)
		found = found || ok && f.Kind == Parallel
		return !found
	})
	return found
}

// DividedExtent is the number of iterations that workers can divide s into: of its longest parallel loop, 0 where there is none. That of
// a loop whose extent is not known is large.
func DividedExtent(s Stmt) (most int) {
	const large = 1 << 20
	Walk(s, func(t Stmt) bool {
		f, ok := t.(*For)
		if !ok || f.Kind != Parallel {
			return true
		}
		n, known := expr.IntOf(f.Extent)
		if !known {
			n = large
		}
		most = max(most, int(min(max(n, 1), large)))
		return false
	})
	return most
}

// Rewrite replaces statements bottom-up: f gets each statement with rewritten sub-statements and returns it or another.
// A nil result deletes the statement. Statements that do not change keep their identity.
func Rewrite(s Stmt, f func(Stmt) Stmt) Stmt {
	sub := func(t Stmt) Stmt {
		if t == nil {
			return nil
		}
		return Rewrite(t, f)
	}
	switch n := s.(type) {
	case *Seq:
		var list []Stmt
		changed := false
		for _, t := range n.List {
			u := sub(t)
			changed = changed || u != t
			if inner, ok := u.(*Seq); ok && u != t {
				list = append(list, inner.List...)
			} else if u != nil {
				list = append(list, u)
			}
		}
		switch {
		case len(list) == 0:
			return nil
		case changed && len(list) == 1:
			return list[0]
		case changed:
			s = &Seq{list}
		}
	case *For:
		b := sub(n.Body)
		if b == nil {
			return nil
		}
		if b != n.Body {
			s = &For{n.Var, n.Min, n.Extent, n.Kind, b}
		}
	case *If:
		a, b := sub(n.Then), sub(n.Else)
		switch {
		case a == nil && b == nil:
			return nil
		case a == nil:
			s = &If{expr.Call(expr.FnNot, n.Cond), b, nil}
		case a != n.Then || b != n.Else:
			s = &If{n.Cond, a, b}
		}
	case *Let:
		b := sub(n.Body)
		if b == nil {
			return nil
		}
		if b != n.Body {
			s = &Let{n.Var, n.Value, b}
		}
	case *Alloc:
		b := sub(n.Body)
		if b == nil {
			return nil
		}
		if b != n.Body {
			s = &Alloc{n.Buffer, b}
		}
	}
	return f(s)
}

// MapExprs replaces every expression directly in the statements of s by f of it.
func MapExprs(s Stmt, f func(expr.Expr) expr.Expr) Stmt {
	store := func(t *Store) *Store {
		if t == nil {
			return nil
		}
		index := make([]expr.Expr, len(t.Index))
		changed := false
		for i, x := range t.Index {
			index[i] = f(x)
			changed = changed || index[i] != x
		}
		if v := f(t.Value); changed || v != t.Value {
			return &Store{t.To, index, v}
		}
		return t
	}
	return Rewrite(s, func(s Stmt) Stmt {
		switch n := s.(type) {
		case *For:
			if lo, ext := f(n.Min), f(n.Extent); lo != n.Min || ext != n.Extent {
				return &For{n.Var, lo, ext, n.Kind, n.Body}
			}
		case *If:
			if c := f(n.Cond); c != n.Cond {
				return &If{c, n.Then, n.Else}
			}
		case *Let:
			if v := f(n.Value); v != n.Value {
				return &Let{n.Var, v, n.Body}
			}
		case *Store:
			return store(n)
		case *Prefetch:
			if at := f(n.At); at != n.At {
				return &Prefetch{n.From, at, n.Lines, n.Near, n.Write}
			}
		case *Block:
			b := *n
			b.Iters = append([]Iter(nil), n.Iters...)
			for i := range b.Iters {
				b.Iters[i].Binding = f(b.Iters[i].Binding)
			}
			if b.Where != nil {
				b.Where = f(b.Where)
			}
			b.Init, b.Body = store(n.Init), store(n.Body)
			return &b
		}
		return s
	})
}

// Subst replaces variables in every expression of s.
func Subst(s Stmt, m map[*expr.Var]expr.Expr) Stmt {
	if len(m) == 0 {
		return s
	}
	return MapExprs(s, func(e expr.Expr) expr.Expr { return expr.Subst(e, m) })
}
