package loop

import "lathe/internal/expr"

// Fresh copies s with new variables for its loops and lets and new buffers for its allocations, so that the copy can
// stand beside the original.
func Fresh(s Stmt) Stmt {
	vars := map[*expr.Var]expr.Expr{}
	bufs := map[*Buffer]*Buffer{}
	newVar := func(v *expr.Var) *expr.Var {
		c := *v
		vars[v] = &c
		return &c
	}
	Walk(s, func(t Stmt) bool {
		switch t := t.(type) {
		case *For:
			newVar(t.Var)
		case *Let:
			newVar(t.Var)
		case *Alloc:
			b := *t.Buffer
			bufs[t.Buffer] = &b
		}
		return true
	})
	fix := func(e expr.Expr) expr.Expr {
		return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
			switch x := x.(type) {
			case *expr.Var:
				if v, ok := vars[x]; ok {
					return v
				}
			case *expr.Load:
				if b, ok := x.From.(*Buffer); ok && bufs[b] != nil {
					return &expr.Load{From: bufs[b], Index: x.Index}
				}
			}
			return x
		})
	}
	s = MapExprs(s, fix)
	store := func(t *Store) *Store {
		if t != nil && bufs[t.To] != nil {
			return &Store{bufs[t.To], t.Index, t.Value}
		}
		return t
	}
	return Rewrite(s, func(t Stmt) Stmt {
		switch t := t.(type) {
		case *For:
			return &For{vars[t.Var].(*expr.Var), t.Min, t.Extent, t.Kind, t.Body}
		case *Let:
			return &Let{vars[t.Var].(*expr.Var), t.Value, t.Body}
		case *Alloc:
			return &Alloc{bufs[t.Buffer], t.Body}
		case *Store:
			return store(t)
		case *Prefetch:
			if b := bufs[t.From]; b != nil {
				return &Prefetch{b, t.At, t.Lines, t.Near, t.Write}
			}
		case *Block:
			b := *t
			b.Init, b.Body = store(t.Init), store(t.Body)
			return &b
		}
		return t
	})
}
