package arith

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// Within narrows in, values of v, to where l >= 0 holds whatever the other variables are. Forms that cannot be bounded do not count.
func (r Ranges) Within(in Interval, l Linear, v *expr.Var) Interval {
	a, inside := l.Coef(v)
	if inside || a == 0 {
		return in
	}
	rest := l.Without(v).Range(r).Lo
	if rest <= -Inf {
		return in
	}
	if a > 0 {
		in.Lo = max(in.Lo, CeilDiv(-rest, a))
	} else {
		in.Hi = min(in.Hi, FloorDiv(rest, -a))
	}
	return in
}

// maxBends bounds the minima, maxima and conditions of an expression that are looked at.
const maxBends = 16

// Settle narrows in, values of v, to where each minimum, maximum and choice in e that turns along v, and along a variable for which
// with holds, is one of its operands whatever the other variables are. Of the two parts at a turn it takes the larger one; a turn
// that leaves neither does not count.
func (r Ranges) Settle(e expr.Expr, v *expr.Var, in Interval, with func(*expr.Var) bool) Interval {
	if !bends(e) {
		return in
	}
	var passed []expr.Expr
	for range maxBends {
		t, ok := r.turnIn(r.With(v, in).Simplify(e), v, with, passed)
		if !ok {
			break
		}
		passed = append(passed, t.first.Expr())
		low, high := r.Within(in, t.first, v), r.Within(in, t.second, v)
		if high.Hi-high.Lo > low.Hi-low.Lo {
			low = high
		}
		if low.Lo <= low.Hi {
			in = low
		}
	}
	return in
}

// bends reports whether something in e may turn: most values compute without a choice, and need not be simplified to tell.
func bends(e expr.Expr) (found bool) {
	expr.Walk(e, func(e expr.Expr) bool {
		switch e := e.(type) {
		case *expr.Select:
			found = true
		case *expr.Binary:
			found = found || (e.Op == expr.OpMin || e.Op == expr.OpMax) && e.DType() == types.I64
		}
		return !found
	})
	return found
}

// TurnsLinear reports whether each choice in e that turns along v does so at one place.
func TurnsLinear(e expr.Expr, v *expr.Var) bool {
	ok := true
	expr.Walk(e, func(e expr.Expr) bool {
		if _, chooses := e.(*expr.Select); chooses {
			for _, t := range turnsOf(e) {
				_, inside := t.first.Coef(v)
				ok = ok && !inside
			}
		}
		return ok
	})
	return ok
}

// A turn is two forms of which one or the other is at least 0.
type turn struct{ first, second Linear }

// turnIn finds an innermost turn of e along v, but for those in passed.
func (r Ranges) turnIn(e expr.Expr, v *expr.Var, with func(*expr.Var) bool, passed []expr.Expr) (t turn, ok bool) {
	for _, c := range expr.Children(e) {
		if t, ok = r.turnIn(c, v, with, passed); ok {
			return t, true
		}
	}
	for _, t := range turnsOf(e) {
		a, inside := t.first.Coef(v)
		if a == 0 || inside || Among(passed, t.first.Expr()) {
			continue
		}
		for _, x := range t.first.Terms {
			if w, isVar := x.Atom.(*expr.Var); isVar && with(w) {
				return t, true
			}
		}
	}
	return t, false
}

// turnsOf are the turns at e itself: operands of a minimum or maximum pass each other, a comparison of a choice fails.
func turnsOf(e expr.Expr) (list []turn) {
	switch e := e.(type) {
	case *expr.Binary:
		if e.DType() == types.I64 && (e.Op == expr.OpMin || e.Op == expr.OpMax) {
			l := LinearOf(e.A).Sub(LinearOf(e.B))
			list = append(list, turn{l, Linear{}.Sub(l)})
		}
	case *expr.Select:
		for _, l := range (Facts)(nil).And(e.Cond) {
			l = l.withoutQuotient()
			list = append(list, turn{l, Linear{Const: -1}.Sub(l)})
		}
	}
	return list
}

// withoutQuotient is a form that is at least 0 where l is: x/n + k is where x + k*n is.
func (l Linear) withoutQuotient() Linear {
	for i, t := range l.Terms {
		q, ok := t.Atom.(*expr.Binary)
		if !ok || q.Op != expr.OpFloorDiv || t.Coef != 1 && t.Coef != -1 {
			continue
		}
		n, ok := expr.IntOf(q.B)
		if !ok || n <= 0 {
			continue
		}
		rest := Linear{Const: l.Const, Terms: slices.Delete(slices.Clone(l.Terms), i, i+1)}.scaled(n)
		if t.Coef == 1 {
			return rest.Sub(LinearOf(q.A).scaled(-1))
		}
		rest.Const += n - 1 // x/n <= k where x <= k*n + n - 1
		return rest.Sub(LinearOf(q.A))
	}
	return l
}
