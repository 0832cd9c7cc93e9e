package intrin

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// sigmoid is 1 / (1 + exp(-x)).
func (b *build) sigmoid(x expr.Expr) expr.Expr { return div(b.c(1), b.logistic(x)) }

// logistic is 1 + exp(-x). The exponential needs no care at its ends here: beyond them the sum is 1 or infinite, for x below
// -88.7 in F32. With n the whole part of -x/ln2 and q = x + n ln2 it is 2^n exp(-q).
func (b *build) logistic(x expr.Expr) expr.Expr {
	ln2 := b.ln2()
	x = b.let("z", expr.Max(expr.Min(x, b.c(b.pick(87.3, 708))), b.c(b.pick(-88.72284, -709.78271))))
	// The low bits of t are the exponent of 2^n with its bias, all ones where the sum below is to be infinite.
	t, n := b.exponentOf(x, -math.Log2E, b.bias)
	q := x
	for _, part := range ln2 {
		q = add(q, mul(n, b.c(part)))
	}
	q = b.let("q", q)
	e := append(poly{1}, sigmoidF32...)
	if b.t == types.F64 { // exp(-q) = 1 - q + q^2 P(-q)
		e = poly{1, -1}
		for i, c := range expF64 {
			if i%2 == 1 {
				c = -c
			}
			e = append(e, c)
		}
	}
	return add(mul(b.horner(e, q), b.float(b.toExponent(b.bits(t)))), b.c(1))
}

// ln2 is the logarithm in parts whose products with a small integer are exact before the last, or, where such products are
// not rounded in sums, in one part in F32: it is off by 1.9e-9, and exp(-x)
// by as much as that times x/ln2, two units in the last place at the end of the range.
func (b *build) ln2() []float64 {
	switch {
	case b.t == types.F64:
		return ln2F64
	case b.fused:
		return ln2Fused
	}
	return ln2F32
}

// sigmoidFactor finds a product with a sigmoid: x is a * sigmoid(z).
func sigmoidFactor(x expr.Expr) (a, z expr.Expr, ok bool) {
	m, ok := x.(*expr.Binary)
	if !ok || m.Op != expr.OpMul {
		return nil, nil, false
	}
	for _, f := range [][2]expr.Expr{{m.A, m.B}, {m.B, m.A}} {
		if s, ok := f[1].(*expr.Unary); ok && s.Fn == expr.FnSigmoid {
			return f[0], s.A, true
		}
	}
	return nil, nil, false
}

// Operands are the expressions that the expansion of x uses as they are: its children, but of a product with a sigmoid the
// other factor and the sigmoid's operand, because such a product is a quotient as a whole.
func Operands(x expr.Expr) []expr.Expr {
	if a, z, ok := sigmoidFactor(x); ok {
		return []expr.Expr{a, z}
	}
	return expr.Children(x)
}

// WithOperands is x with other operands, in the order of Operands.
func WithOperands(x expr.Expr, operands []expr.Expr) expr.Expr {
	if _, _, ok := sigmoidFactor(x); ok {
		return expr.Mul(operands[0], expr.Call(expr.FnSigmoid, operands[1]))
	}
	i := -1
	return expr.MapChildren(x, func(expr.Expr) expr.Expr { i++; return operands[i] })
}
