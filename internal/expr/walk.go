package expr

import "lathe/internal/types"

// Children returns the direct operands of e.
func Children(e Expr) []Expr {
	switch e := e.(type) {
	case *Binary:
		return []Expr{e.A, e.B}
	case *Unary:
		return []Expr{e.A}
	case *Select:
		return []Expr{e.Cond, e.A, e.B}
	case *Cast:
		return []Expr{e.A}
	case *Bits:
		return []Expr{e.A}
	case *Load:
		return e.Index
	case *Let:
		return []Expr{e.Value, e.Body}
	case *Dot:
		return []Expr{e.A, e.B}
	}
	return nil
}

// Walk calls f for e and, while f returns true, for its operands.
func Walk(e Expr, f func(Expr) bool) {
	if f(e) {
		for _, c := range Children(e) {
			Walk(c, f)
		}
	}
}

// Rewrite replaces sub-expressions bottom-up. f gets each node with rewritten operands and returns it or another one of
// the same type. Nodes that do not change keep their identity. The operands of a Dot are replaced by loads only.
func Rewrite(e Expr, f func(Expr) Expr) Expr {
	return f(MapChildren(e, func(c Expr) Expr { return Rewrite(c, f) }))
}

// MapChildren returns e with f applied to its direct operands; e itself when none changes.
func MapChildren(e Expr, f func(Expr) Expr) Expr {
	switch e := e.(type) {
	case *Binary:
		if a, b := f(e.A), f(e.B); a != e.A || b != e.B {
			return &Binary{e.Op, a, b}
		}
	case *Unary:
		if a := f(e.A); a != e.A {
			return &Unary{e.Fn, a}
		}
	case *Select:
		if c, a, b := f(e.Cond), f(e.A), f(e.B); c != e.Cond || a != e.A || b != e.B {
			return &Select{c, a, b}
		}
	case *Cast:
		if a := f(e.A); a != e.A {
			return &Cast{e.To, a}
		}
	case *Bits:
		if a := f(e.A); a != e.A {
			return &Bits{e.To, a}
		}
	case *Load:
		var index []Expr
		for i, x := range e.Index {
			y := f(x)
			if y != x && index == nil {
				index = append([]Expr(nil), e.Index...)
			}
			if index != nil {
				index[i] = y
			}
		}
		if index != nil {
			return &Load{e.From, index}
		}
	case *Let:
		if v, b := f(e.Value), f(e.Body); v != e.Value || b != e.Body {
			return &Let{e.Var, v, b}
		}
	case *Dot:
		if a, b := f(e.A).(*Load), f(e.B).(*Load); a != e.A || b != e.B {
			return &Dot{a, b, e.AxisA, e.AxisB}
		}
	}
	return e
}

// Subst replaces variables. Variables bound inside e are never keys of m: they are fresh where they are made.
func Subst(e Expr, m map[*Var]Expr) Expr {
	if len(m) == 0 {
		return e
	}
	return Rewrite(e, func(x Expr) Expr {
		if v, ok := x.(*Var); ok {
			if r, ok := m[v]; ok {
				return r
			}
		}
		return x
	})
}

// Uses reports whether v occurs in e.
func Uses(e Expr, v *Var) bool {
	found := false
	Walk(e, func(x Expr) bool {
		if x == Expr(v) {
			found = true
		}
		return !found
	})
	return found
}

// Loads calls f for every Load in e, inner ones included.
func Loads(e Expr, f func(*Load)) {
	Walk(e, func(x Expr) bool {
		if l, ok := x.(*Load); ok {
			f(l)
		}
		return true
	})
}

// Operations counts the arithmetic on floats and integers in e: comparisons and index arithmetic count for nothing.
func Operations(e Expr) int {
	n := 0
	Walk(e, func(x Expr) bool {
		switch x := x.(type) {
		case *Load:
			return false
		case *Binary:
			if x.DType() != types.Bool && x.DType() != types.I64 {
				n++
			}
		case *Unary:
			n++
		}
		return true
	})
	return n
}
