package arith

import (
	"lathe/internal/expr"
	"lathe/internal/types"
)

// Simplify rewrites e to an equal, usually shorter expression, given the ranges of its variables. It folds constants,
// brings I64 sums into linear form, resolves quotients and remainders of blocked indices, and decides comparisons.
// Floating-point arithmetic is left as it is.
func (r Ranges) Simplify(e expr.Expr) expr.Expr { return r.SimplifyUnder(e, nil) }

// SimplifyUnder is Simplify where in addition facts hold.
func (r Ranges) SimplifyUnder(e expr.Expr, facts Facts) expr.Expr {
	s := simplifier{r, facts}
	return s.expr(e)
}

type simplifier struct {
	r     Ranges
	facts Facts
}

func (s simplifier) expr(e expr.Expr) expr.Expr {
	switch e := e.(type) {
	case *expr.Select:
		c := s.expr(e.Cond)
		if v, ok := expr.IntOf(c); ok {
			if v != 0 {
				return s.expr(e.A)
			}
			return s.expr(e.B)
		}
		a := simplifier{s.r, s.facts.And(c)}.expr(e.A)
		b := s.expr(e.B)
		if c == e.Cond && a == e.A && b == e.B {
			return e
		}
		return &expr.Select{Cond: c, A: a, B: b}
	case *expr.Let:
		v := s.expr(e.Value)
		b := s.expr(e.Body)
		if v == e.Value && b == e.Body {
			return e
		}
		return &expr.Let{Var: e.Var, Value: v, Body: b}
	case *expr.Binary:
		switch e.Op {
		case expr.OpAnd:
			if e.DType() == types.Bool {
				return s.and(e)
			}
		case expr.OpAdd, expr.OpSub, expr.OpMul:
			if e.DType() == types.I64 {
				return s.sum(e)
			}
		}
	}
	return s.node(expr.MapChildren(e, s.expr))
}

// sum simplifies a sum as a whole: a linear form for each of its parts would take time that grows with the square of their number.
func (s simplifier) sum(e *expr.Binary) expr.Expr {
	var l Linear
	s.addTo(&l, e, 1)
	l.joinDivMod()
	if x := l.Expr(); !Equal(x, e) {
		return x
	}
	return e
}

// WeightedSum is the linear form of the sum of I64 expressions, each times its weight, simplified.
func (r Ranges) WeightedSum(list []expr.Expr, weights []int) Linear {
	s := simplifier{r, nil}
	var l Linear
	for i, w := range weights {
		s.addTo(&l, list[i], int64(w))
	}
	l.joinDivMod()
	return l
}

// addTo adds coef times e to l, with its atoms simplified.
func (s simplifier) addTo(l *Linear, e expr.Expr, coef int64) {
	l.walk(e, coef, func(atom expr.Expr, coef int64) {
		if b, ok := atom.(*expr.Binary); ok && b.Op == expr.OpMul { // expr would come back here
			l.add(s.node(expr.MapChildren(atom, s.expr)), coef)
			return
		}
		l.add(s.expr(atom), coef)
	})
}

// and simplifies a conjunction; the right side may use the left as a fact.
func (s simplifier) and(e *expr.Binary) expr.Expr {
	a := s.expr(e.A)
	if v, ok := expr.IntOf(a); ok {
		if v == 0 {
			return a
		}
		return s.expr(e.B)
	}
	b := simplifier{s.r, s.facts.And(a)}.expr(e.B)
	if v, ok := expr.IntOf(b); ok {
		if v == 0 {
			return b
		}
		return a
	}
	if a == e.A && b == e.B {
		return e
	}
	return expr.And(a, b)
}

// node simplifies e whose operands are simple.
func (s simplifier) node(e expr.Expr) expr.Expr {
	if e.DType() == types.I64 {
		if i := s.r.Of(e); i.Single() {
			return keepInt(e, i.Lo)
		}
	}
	switch e := e.(type) {
	case *expr.Var:
		if i, ok := s.r[e]; ok && i.Single() && e.Type == types.I64 {
			return &expr.Int{V: i.Lo, Type: types.I64}
		}
	case *expr.Binary:
		return s.binary(e)
	case *expr.Unary:
		if v, ok := expr.IntOf(e.A); ok && e.Fn == expr.FnNot && e.A.DType() == types.Bool {
			return &expr.Int{V: 1 - v, Type: types.Bool}
		}
	case *expr.Cast:
		if v, ok := expr.IntOf(e.A); ok {
			return foldCast(e, v)
		}
		if e.A.DType() == e.To {
			return e.A
		}
	}
	return e
}

func keepInt(e expr.Expr, v int64) expr.Expr {
	if expr.IsInt(e, v) {
		return e
	}
	return &expr.Int{V: v, Type: types.I64}
}

func foldCast(e *expr.Cast, v int64) expr.Expr {
	switch {
	case e.To.IsFloat() && e.To == e.To.Compute() && v > -1<<24 && v < 1<<24: // constants of 16 bits there are none
		return &expr.Float{V: float64(v), Type: e.To}
	case e.To.IsInt() && e.To != types.U64:
		if lo, hi := e.To.IntRange(); v >= lo && v <= hi {
			return &expr.Int{V: v, Type: e.To}
		}
	}
	return e
}

func (s simplifier) binary(e *expr.Binary) expr.Expr {
	t := e.A.DType()
	if t == types.Bool {
		return s.boolean(e)
	}
	if t != types.I64 {
		return neutral(e)
	}
	switch e.Op {
	case expr.OpAdd, expr.OpSub, expr.OpMul:
		l := LinearOf(e)
		if x := l.Expr(); !Equal(x, e) {
			return x
		}
	case expr.OpFloorDiv, expr.OpFloorMod:
		if c, ok := expr.IntOf(e.B); ok && c > 0 {
			return s.divMod(e, c)
		}
	case expr.OpMin, expr.OpMax:
		d := LinearOf(e.A).Sub(LinearOf(e.B)).Range(s.r)
		if (d.Hi <= 0) == (e.Op == expr.OpMin) && (d.Hi <= 0 || d.Lo >= 0) {
			return e.A
		}
		if (d.Lo >= 0) == (e.Op == expr.OpMin) && (d.Hi <= 0 || d.Lo >= 0) {
			return e.B
		}
	case expr.OpEQ, expr.OpNE, expr.OpLT, expr.OpLE, expr.OpGT, expr.OpGE:
		if known, v := s.decide(e); known {
			return boolean(v)
		}
	}
	return e
}

// neutral drops an operand that changes no value of the type: 0 of an integer sum, 1 of a product.
func neutral(e *expr.Binary) expr.Expr {
	is := func(x expr.Expr, v int64) bool {
		f, ok := x.(*expr.Float)
		return ok && f.V == float64(v) && v != 0 || expr.IsInt(x, v)
	}
	switch e.Op {
	case expr.OpAdd, expr.OpSub:
		if is(e.B, 0) {
			return e.A
		}
		if is(e.A, 0) && e.Op == expr.OpAdd {
			return e.B
		}
	case expr.OpMul, expr.OpDiv:
		if is(e.B, 1) {
			return e.A
		}
		if is(e.A, 1) && e.Op == expr.OpMul {
			return e.B
		}
	}
	return e
}

// divMod resolves x floordiv c and x floormod c as far as the parts of x allow: multiples of c leave the quotient, and
// what remains in [0, c) leaves the remainder.
func (s simplifier) divMod(e *expr.Binary, c int64) expr.Expr {
	if c == 1 {
		if e.Op == expr.OpFloorDiv {
			return e.A
		}
		return expr.Index(0)
	}
	l := LinearOf(e.A)
	var quot, rest Linear
	for _, t := range l.Terms {
		if t.Coef%c == 0 {
			quot.Terms = append(quot.Terms, Term{t.Atom, t.Coef / c})
		} else {
			rest.Terms = append(rest.Terms, t)
		}
	}
	quot.Const = FloorDiv(l.Const, c)
	rest.Const = l.Const - quot.Const*c
	// The constant may sit on either side of the boundary: try to bring the rest into [0, c).
	i := rest.Range(s.r)
	if i.Lo > -Inf && i.Hi < Inf {
		if q := FloorDiv(i.Lo, c); FloorDiv(i.Hi, c) == q {
			quot.Const += q
			rest.Const -= q * c
			if e.Op == expr.OpFloorDiv {
				return quot.Expr()
			}
			return rest.Expr()
		}
	}
	if e.Op == expr.OpFloorDiv {
		if in, ok := rest.Expr().(*expr.Binary); ok && in.Op == expr.OpFloorDiv {
			if d, ok := expr.IntOf(in.B); ok && d > 0 {
				quot.addTerm(&expr.Binary{Op: expr.OpFloorDiv, A: in.A, B: &expr.Int{V: c * d, Type: types.I64}}, 1)
				return quot.Expr()
			}
		}
		quot.addTerm(&expr.Binary{Op: expr.OpFloorDiv, A: rest.Expr(), B: e.B}, 1)
		if x := quot.Expr(); !Equal(x, e) {
			return x
		}
		return e
	}
	if x := (&expr.Binary{Op: expr.OpFloorMod, A: rest.Expr(), B: e.B}); !Equal(x, e) {
		return x
	}
	return e
}

func (s simplifier) boolean(e *expr.Binary) expr.Expr {
	a, ka := expr.IntOf(e.A)
	b, kb := expr.IntOf(e.B)
	switch e.Op {
	case expr.OpAnd:
		if ka && a == 0 || kb && b != 0 {
			return e.A
		}
		if kb && b == 0 || ka && a != 0 {
			return e.B
		}
	case expr.OpOr:
		if ka && a != 0 || kb && b == 0 {
			return e.A
		}
		if kb && b != 0 || ka && a == 0 {
			return e.B
		}
	}
	return e
}

func boolean(v bool) expr.Expr {
	if v {
		return &expr.Int{V: 1, Type: types.Bool}
	}
	return &expr.Int{V: 0, Type: types.Bool}
}

// decide settles an I64 comparison where ranges or facts do.
func (s simplifier) decide(e *expr.Binary) (known, value bool) {
	d := LinearOf(e.A).Sub(LinearOf(e.B))
	switch e.Op {
	case expr.OpEQ, expr.OpNE:
		if len(d.Terms) == 0 {
			return true, (d.Const == 0) == (e.Op == expr.OpEQ)
		}
		if i := d.Range(s.r); i.Lo > 0 || i.Hi < 0 {
			return true, e.Op == expr.OpNE
		}
		return false, false
	case expr.OpGT, expr.OpLE: // A > B is B-A < 0
		d = Linear{}.Sub(d)
	}
	// now LT: d < 0, GE: d >= 0, GT: d < 0, LE: d >= 0
	neg := Linear{Const: -1}.Sub(d) // -1-d >= 0 exactly when d < 0
	isNeg, isNonNeg := s.facts.nonNegative(neg, s.r), s.facts.nonNegative(d, s.r)
	if !isNeg && !isNonNeg {
		return false, false
	}
	return true, isNeg == (e.Op == expr.OpLT || e.Op == expr.OpGT)
}
