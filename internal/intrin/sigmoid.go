package intrin

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// sigmoid is 1 / (1 + exp(-x)). The exponential needs no care at its ends here: beyond them the result is 1 or, where it
// would be below the least normal number, 0. With n the whole part of -x/ln2 and q = x + n ln2 it is 2^n exp(-q).
func (b *build) sigmoid(x expr.Expr) expr.Expr {
	ln2, p := ln2F32, expF32
	if b.t == types.F64 {
		ln2, p = ln2F64, expF64
	}
	x = b.let("z", expr.Max(expr.Min(x, b.c(b.pick(87.3, 708))), b.c(b.pick(-88.72284, -709.78271))))
	// The low bits of t are the exponent of 2^n with its bias, all ones where the sum below is to be infinite.
	shift := b.c(b.magic() + float64(b.bias))
	t := b.let("t", add(mul(x, b.c(-math.Log2E)), shift))
	n := b.let("n", sub(t, shift))
	q := b.let("q", add(add(x, mul(n, b.c(ln2[0]))), mul(n, b.c(ln2[1]))))
	e := poly{1, -1}
	for i, c := range p { // exp(-q) = 1 - q + q^2 P(-q)
		if i%2 == 1 {
			c = -c
		}
		e = append(e, c)
	}
	return div(b.c(1), add(mul(b.horner(e, q), b.float(b.toExponent(b.bits(t)))), b.c(1)))
}
