package ops

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// Power raises a to the b-th. Importers cast mixed types.
var Power = binary(binaryRow{
	name: "power", doc: "a to the power b. Integers wrap; a negative exponent truncates 1/a^|b|, and 0 gives 0.",
	kind: numbers, op: expr.OpPow, integerBody: integerPower,
	float:   math.Pow,
	integer: powerInt,
})

// powerInt multiplies by repeated squaring. The product wraps as the stored element does: both are modulo 2^64.
func powerInt(d types.DType, a, b int64) int64 {
	if b < 0 && d.IsSigned() {
		switch {
		case a == 1 || a == -1 && b&1 == 0:
			return 1
		case a == -1:
			return -1
		}
		return 0
	}
	p := int64(1)
	for e := uint64(b); e != 0; e >>= 1 {
		if e&1 != 0 {
			p *= a
		}
		a *= a
	}
	return p
}

// integerPower is repeated squaring unrolled over the bits of the exponent. Every square and product is bound to a
// variable: as a tree the expression would double with each bit.
func integerPower(a, b expr.Expr) expr.Expr {
	t := a.DType()
	bits := t.Bits()
	if t.IsSigned() {
		bits--
	}
	return let("base", a, func(a expr.Expr) expr.Expr {
		return let("exponent", b, func(b expr.Expr) expr.Expr {
			p := powerBits(a, b, expr.Const(t, 1), 0, bits)
			if !t.IsSigned() {
				return p
			}
			odd := expr.EQ(expr.And(b, one(b)), one(b))
			minus := expr.If(expr.EQ(a, like(a, -1)), expr.If(odd, a, one(a)), zero(a))
			inverse := expr.If(expr.EQ(a, one(a)), one(a), minus)
			return expr.If(expr.LT(b, zero(b)), inverse, p)
		})
	})
}

// powerBits is product * square^(b >> bit), looking at the given number of bits.
func powerBits(square, b, product expr.Expr, bit, bits int) expr.Expr {
	if bit == bits {
		return product
	}
	set := expr.Bin(expr.OpNE, expr.And(expr.Bin(expr.OpShr, b, like(b, float64(bit))), one(b)), zero(b))
	return let("product", expr.If(set, expr.Mul(product, square), product), func(product expr.Expr) expr.Expr {
		if bit+1 == bits {
			return product
		}
		return let("square", expr.Mul(square, square), func(square expr.Expr) expr.Expr {
			return powerBits(square, b, product, bit+1, bits)
		})
	})
}

// let binds a value that body uses more than once.
func let(name string, value expr.Expr, body func(v expr.Expr) expr.Expr) expr.Expr {
	v := &expr.Var{Name: name, Type: value.DType()}
	return &expr.Let{Var: v, Value: value, Body: body(v)}
}
