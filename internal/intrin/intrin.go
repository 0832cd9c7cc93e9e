// Package intrin expands functions that no processor has into arithmetic: polynomials, selects and moves of bits, without
// branches, loops, tables or calls, so that vector code stays vector code.
//
// The polynomials come from the generator under gen. The stated errors hold whether or not a product that is directly an
// operand of a sum is contracted into it, unless Expand is told; a value bound by a Let must be rounded.
package intrin

import "lathe/internal/expr"

// Expand rewrites every function and operator of e that has no instruction: what is left is arithmetic, comparison, min,
// max, select, sqrt, rounding, casts and operations on bits. With fused, products that are directly an operand of a sum are
// surely not rounded. A product with a sigmoid becomes one quotient.
func Expand(e expr.Expr, fused bool) expr.Expr {
	e = expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		if a, z, ok := sigmoidFactor(x); ok {
			b := newBuild(z.DType(), fused)
			return b.done(div(a, b.logistic(b.let("x", z))))
		}
		return x
	})
	return expr.Rewrite(e, func(x expr.Expr) expr.Expr {
		switch x := x.(type) {
		case *expr.Unary:
			if f := functions[x.Fn]; f != nil {
				b := newBuild(x.A.DType(), fused)
				return b.done(f(b, b.let("x", x.A)))
			}
		case *expr.Binary:
			if x.A.DType().IsFloat() {
				return expandBinary(x, fused)
			}
		}
		return x
	})
}

// functions are the expansions of functions of one argument, which is a variable or a constant.
var functions = map[expr.Fn]func(b *build, x expr.Expr) expr.Expr{
	expr.FnRsqrt:   (*build).rsqrt,
	expr.FnExp:     (*build).exp,
	expr.FnExpNeg:  (*build).expNeg,
	expr.FnExpm1:   (*build).expm1,
	expr.FnLog:     (*build).log,
	expr.FnLog1p:   (*build).log1p,
	expr.FnTanh:    (*build).tanh,
	expr.FnSigmoid: (*build).sigmoid,
	expr.FnErf:     (*build).erf,
	expr.FnSin:     (*build).sin,
	expr.FnCos:     (*build).cos,
	expr.FnTan:     (*build).tan,
	expr.FnAsin:    (*build).asin,
	expr.FnAcos:    (*build).acos,
	expr.FnAtan:    (*build).atan,
	expr.FnSinh:    (*build).sinh,
	expr.FnCosh:    (*build).cosh,
	expr.FnAsinh:   (*build).asinh,
	expr.FnAcosh:   (*build).acosh,
	expr.FnAtanh:   (*build).atanh,
}

func (b *build) rsqrt(x expr.Expr) expr.Expr { return div(b.c(1), sqrt(x)) }

func expandBinary(x *expr.Binary, fused bool) expr.Expr {
	b := newBuild(x.A.DType(), fused)
	switch x.Op {
	case expr.OpPow:
		return b.done(b.pow(b.let("x", x.A), b.let("y", x.B)))
	case expr.OpAtan2:
		return b.done(b.atan2(b.let("y", x.A), b.let("x", x.B)))
	case expr.OpMod:
		return b.done(b.mod(b.let("x", x.A), b.let("y", x.B)))
	case expr.OpFloorMod:
		return b.done(b.floorMod(b.let("x", x.A), b.let("y", x.B)))
	}
	return x
}
