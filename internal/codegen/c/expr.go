package c

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/types"
)

// expr writes the evaluation of x: an expression, before which variables may have been declared.
func (e *emitter) expr(x expr.Expr) value {
	switch x := x.(type) {
	case *expr.Var:
		v, ok := e.env[x]
		if !ok {
			fail("variable %s is not in scope", x.Name)
		}
		if v.let > 0 {
			e.uses[v.let-1] = true
		}
		return v
	case *expr.Int:
		return integer(x.V, x.Type)
	case *expr.Float:
		return e.float(x.V, x.Type)
	case *expr.Binary:
		return e.binary(x)
	case *expr.Unary:
		return e.unary(x)
	case *expr.Select:
		return e.choose(x)
	case *expr.Cast:
		return e.cast(x)
	case *expr.Bits:
		return e.reinterpret(x.To, x.A.DType(), e.expr(x.A))
	case *expr.Load:
		return e.load(x)
	case *expr.Dot:
		return e.dot(x)
	case *expr.Let:
		e.let(x.Var, x.Value)
		return e.expr(x.Body)
	}
	fail("expression %T", x)
	return value{}
}

// needsGuard reports whether x declares variables that load from memory: it must not be evaluated where its value is not
// asked for, and declarations stand before the expression that they belong to.
func needsGuard(x expr.Expr) bool {
	found := false
	expr.Walk(x, func(y expr.Expr) bool {
		if let, ok := y.(*expr.Let); ok {
			found = found || hasLoad(let.Value)
		}
		return !found
	})
	return found
}

func hasLoad(x expr.Expr) bool {
	found := false
	expr.Loads(x, func(*expr.Load) { found = true })
	return found
}

// choose writes a selection, of which only the chosen operand is evaluated.
func (e *emitter) choose(x *expr.Select) value {
	c := e.expr(x.Cond)
	if c.known {
		if c.i != 0 {
			return e.expr(x.A)
		}
		return e.expr(x.B)
	}
	if needsGuard(x.A) || needsGuard(x.B) {
		return e.branch(c, x.DType(), func() value { return e.expr(x.A) }, func() value { return e.expr(x.B) })
	}
	a, b := e.expr(x.A), e.expr(x.B)
	return value{s: c.in(either) + " ? " + a.in(either) + " : " + b.in(either), prec: choice, narrow: a.narrow && b.narrow}
}

// branch assigns one of two values to a variable.
func (e *emitter) branch(c value, t types.DType, a, b func() value) value {
	name := e.names.fresh("chosen")
	r := value{s: name, prec: atom}
	e.line("%s %s;", valueType(t, false), name)
	e.line("if (%s) {", c.s)
	e.indented(func() { v := a(); e.line("%s = %s;", name, v.s) })
	e.line("} else {")
	e.block(func() { v := b(); e.line("%s = %s;", name, v.s) })
	return r
}

// logical writes a conjunction or disjunction of Bools; the second operand is evaluated where the first decides nothing.
func (e *emitter) logical(x *expr.Binary) value {
	a := e.expr(x.A)
	and := x.Op == expr.OpAnd
	if a.known {
		if (a.i != 0) == and {
			return e.expr(x.B)
		}
		return a
	}
	if needsGuard(x.B) {
		second, known := func() value { return e.expr(x.B) }, func() value { return integer(map[bool]int64{false: 1}[and], types.Bool) }
		if and {
			return e.branch(a, types.Bool, second, known)
		}
		return e.branch(a, types.Bool, known, second)
	}
	b := e.expr(x.B)
	if b.known {
		if (b.i != 0) == and {
			return a
		}
		return b
	}
	op, prec := "||", either
	if and {
		op, prec = "&&", both
	}
	// Compilers warn of one within the other.
	operand := func(v value) string {
		if v.prec == both && !and || v.prec == choice {
			return "(" + v.s + ")"
		}
		return v.in(prec)
	}
	return value{s: operand(a) + " " + op + " " + operand(b), prec: prec}
}

// dot writes the products of a dot product.
func (e *emitter) dot(d *expr.Dot) value {
	var terms []string
	for j := range d.Width() {
		a, b := d.Term(j)
		terms = append(terms, fmt.Sprintf("(int32_t)%s * (int32_t)%s", e.load(a).in(prefix), e.load(b).in(prefix)))
	}
	return value{s: strings.Join(terms, " + "), prec: sum}
}

// known replaces variables that are constants here.
func (e *emitter) known(x expr.Expr) expr.Expr {
	m := map[*expr.Var]expr.Expr{}
	expr.Walk(x, func(y expr.Expr) bool {
		if v, ok := y.(*expr.Var); ok && v.Type == types.I64 {
			if c := e.env[v]; c.known {
				m[v] = &expr.Int{V: c.i, Type: types.I64}
			}
		}
		return true
	})
	return expr.Subst(x, m)
}

// simple is x, an index, in a short form.
func (e *emitter) simple(x expr.Expr) expr.Expr {
	return sumOf(arith.LinearOf(e.ranges.Simplify(e.known(x))))
}

// sumOf writes a linear form as a sum that begins with what is not subtracted.
func sumOf(l arith.Linear) expr.Expr {
	l.Terms = slices.Clone(l.Terms)
	slices.SortStableFunc(l.Terms, func(a, b arith.Term) int { return cmp.Compare(sign(b.Coef), sign(a.Coef)) })
	if len(l.Terms) == 0 || l.Terms[0].Coef > 0 || l.Const <= 0 {
		return l.Expr()
	}
	var r expr.Expr = expr.Index(int(l.Const))
	for _, t := range l.Terms {
		if t.Coef != -1 {
			t.Atom = expr.Mul(t.Atom, expr.Index(int(-t.Coef)))
		}
		r = expr.Sub(r, t.Atom)
	}
	return r
}

func sign(n int64) int { return cmp.Compare(n, 0) }
