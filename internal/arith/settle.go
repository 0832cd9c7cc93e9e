package arith

import (
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

// maxBends bounds the minima and maxima of an expression that are looked at.
const maxBends = 16

// Settle narrows in, values of v, to where each minimum and maximum in e that bends along v, and along a variable for which with
// holds, is one of its operands whatever the other variables are. Of the two parts at a bend it takes the larger one; a bend that
// leaves neither does not count.
func (r Ranges) Settle(e expr.Expr, v *expr.Var, in Interval, with func(*expr.Var) bool) Interval {
	var passed []Linear
	for range maxBends {
		l, ok := r.bend(r.With(v, in).Simplify(e), v, with, passed)
		if !ok {
			break
		}
		passed = append(passed, l)
		low, high := r.Within(in, l, v), r.Within(in, Linear{}.Sub(l), v)
		if high.Hi-high.Lo > low.Hi-low.Lo {
			low = high
		}
		if low.Lo <= low.Hi {
			in = low
		}
	}
	return in
}

// bend is the difference of the operands of an innermost minimum or maximum in e that bends along v, but for those in passed.
func (r Ranges) bend(e expr.Expr, v *expr.Var, with func(*expr.Var) bool, passed []Linear) (l Linear, ok bool) {
	for _, c := range expr.Children(e) {
		if l, ok = r.bend(c, v, with, passed); ok {
			return l, true
		}
	}
	b, isBinary := e.(*expr.Binary)
	if !isBinary || b.Op != expr.OpMin && b.Op != expr.OpMax || b.DType() != types.I64 {
		return l, false
	}
	l = LinearOf(b.A).Sub(LinearOf(b.B))
	if a, inside := l.Coef(v); a == 0 || inside || Among(linears(passed), l.Expr()) {
		return l, false
	}
	for _, t := range l.Terms {
		x, isVar := t.Atom.(*expr.Var)
		ok = ok || isVar && with(x)
	}
	return l, ok
}

func linears(list []Linear) []expr.Expr {
	es := make([]expr.Expr, len(list))
	for i, l := range list {
		es[i] = l.Expr()
	}
	return es
}
