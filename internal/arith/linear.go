package arith

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// A Linear is Const plus the sum of Coef times Atom. Atoms are I64 expressions that are no sums: variables, loads,
// quotients, remainders, minima and the like; no two are equal and no coefficient is 0.
type Linear struct {
	Terms []Term
	Const int64
}

// A Term is one summand.
type Term struct {
	Atom expr.Expr
	Coef int64
}

// LinearOf splits an I64 expression into its linear form.
func LinearOf(e expr.Expr) Linear {
	var l Linear
	l.add(e, 1)
	l.joinDivMod()
	return l
}

func (l *Linear) add(e expr.Expr, coef int64) { l.walk(e, coef, l.addTerm) }

// walk adds the constants of coef times e, and calls atom for every other summand.
func (l *Linear) walk(e expr.Expr, coef int64, atom func(e expr.Expr, coef int64)) {
	switch e := e.(type) {
	case *expr.Int:
		l.Const += coef * e.V
		return
	case *expr.Binary:
		switch e.Op {
		case expr.OpAdd:
			l.walk(e.A, coef, atom)
			l.walk(e.B, coef, atom)
			return
		case expr.OpSub:
			l.walk(e.A, coef, atom)
			l.walk(e.B, -coef, atom)
			return
		case expr.OpMul:
			if c, ok := expr.IntOf(e.B); ok {
				l.walk(e.A, coef*c, atom)
				return
			}
			if c, ok := expr.IntOf(e.A); ok {
				l.walk(e.B, coef*c, atom)
				return
			}
		}
	case *expr.Unary:
		if e.Fn == expr.FnNeg {
			l.walk(e.A, -coef, atom)
			return
		}
	}
	atom(e, coef)
}

func (l *Linear) addTerm(atom expr.Expr, coef int64) {
	if coef == 0 {
		return
	}
	for i := range l.Terms {
		if Equal(l.Terms[i].Atom, atom) {
			l.Terms[i].Coef += coef
			if l.Terms[i].Coef == 0 {
				l.Terms = append(l.Terms[:i], l.Terms[i+1:]...)
			}
			return
		}
	}
	l.Terms = append(l.Terms, Term{atom, coef})
}

// joinDivMod rewrites (x floordiv c)*c*k + (x floormod c)*k to x*k, the trace that fusing two loops leaves.
func (l *Linear) joinDivMod() {
	for i, m := range l.Terms {
		mod, ok := m.Atom.(*expr.Binary)
		if !ok || mod.Op != expr.OpFloorMod {
			continue
		}
		c, ok := expr.IntOf(mod.B)
		if !ok || c <= 0 {
			continue
		}
		for j, d := range l.Terms {
			div, ok := d.Atom.(*expr.Binary)
			if ok && div.Op == expr.OpFloorDiv && expr.IsInt(div.B, c) && d.Coef == m.Coef*c && Equal(div.A, mod.A) {
				terms := l.Terms
				l.Terms = nil
				for k, t := range terms {
					if k != i && k != j {
						l.Terms = append(l.Terms, t)
					}
				}
				l.add(mod.A, m.Coef)
				l.joinDivMod()
				return
			}
		}
	}
}

// Expr rebuilds the expression, terms in order, the constant last.
func (l Linear) Expr() expr.Expr {
	var e expr.Expr
	for _, t := range l.Terms {
		switch {
		case e == nil && t.Coef == 1:
			e = t.Atom
		case e == nil:
			e = expr.Mul(t.Atom, &expr.Int{V: t.Coef, Type: types.I64})
		case t.Coef == 1:
			e = expr.Add(e, t.Atom)
		case t.Coef == -1:
			e = expr.Sub(e, t.Atom)
		default:
			e = expr.Add(e, expr.Mul(t.Atom, &expr.Int{V: t.Coef, Type: types.I64}))
		}
	}
	switch {
	case e == nil:
		return &expr.Int{V: l.Const, Type: types.I64}
	case l.Const > 0:
		return expr.Add(e, &expr.Int{V: l.Const, Type: types.I64})
	case l.Const < 0:
		return expr.Sub(e, &expr.Int{V: -l.Const, Type: types.I64})
	}
	return e
}

// Sub is l - m.
func (l Linear) Sub(m Linear) Linear {
	d := Linear{Terms: append([]Term(nil), l.Terms...), Const: l.Const - m.Const}
	for _, t := range m.Terms {
		d.addTerm(t.Atom, -t.Coef)
	}
	return d
}

// Coef is the coefficient of variable v as a term of its own; inside reports whether v also occurs within another atom.
func (l Linear) Coef(v *expr.Var) (coef int64, inside bool) {
	for _, t := range l.Terms {
		if t.Atom == expr.Expr(v) {
			coef = t.Coef
		} else if expr.Uses(t.Atom, v) {
			inside = true
		}
	}
	return coef, inside
}

// Without is l less its terms that are v itself.
func (l Linear) Without(v *expr.Var) Linear {
	r := Linear{Const: l.Const}
	for _, t := range l.Terms {
		if t.Atom != expr.Expr(v) {
			r.Terms = append(r.Terms, t)
		}
	}
	return r
}

// Range bounds l.
func (l Linear) Range(r Ranges) Interval {
	i := Point(l.Const)
	for _, t := range l.Terms {
		i = i.Add(r.Of(t.Atom).Scale(t.Coef))
	}
	return i
}

// Equal reports whether two expressions are the same tree.
func Equal(a, b expr.Expr) bool {
	if a == b {
		return true
	}
	same := false
	switch a := a.(type) {
	case *expr.Int:
		b, ok := b.(*expr.Int)
		return ok && *a == *b
	case *expr.Float:
		b, ok := b.(*expr.Float)
		return ok && *a == *b
	case *expr.Binary:
		b, ok := b.(*expr.Binary)
		return ok && a.Op == b.Op && Equal(a.A, b.A) && Equal(a.B, b.B)
	case *expr.Unary:
		b, ok := b.(*expr.Unary)
		return ok && a.Fn == b.Fn && Equal(a.A, b.A)
	case *expr.Select:
		_, same = b.(*expr.Select)
	case *expr.Cast:
		b, ok := b.(*expr.Cast)
		same = ok && a.To == b.To
	case *expr.Bits:
		b, ok := b.(*expr.Bits)
		same = ok && a.To == b.To
	case *expr.Load:
		b, ok := b.(*expr.Load)
		same = ok && a.From == b.From
	case *expr.Dot:
		b, ok := b.(*expr.Dot)
		same = ok && a.AxisA == b.AxisA && a.AxisB == b.AxisB
	}
	return same && slices.EqualFunc(expr.Children(a), expr.Children(b), Equal)
}

// Among reports whether a list has the tree e.
func Among(list []expr.Expr, e expr.Expr) bool {
	return slices.ContainsFunc(list, func(x expr.Expr) bool { return Equal(x, e) })
}

// GCD is the greatest common divisor of numbers of which none is negative; that of n and 0 is n.
func GCD(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
