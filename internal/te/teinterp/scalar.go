package teinterp

import (
	"math"
	"math/bits"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// binary applies op to operands of type t.
func binary(op expr.Op, t types.DType, a, b scalar) scalar {
	switch {
	case op.Compares():
		return truth(compare(op, t, a, b))
	case t.IsFloat():
		return narrow(t, scalar{f: binaryFloat(op, a.f, b.f)})
	case t == types.U64:
		return scalar{i: int64(binaryUint64(op, uint64(a.i), uint64(b.i)))}
	}
	return narrow(t, scalar{i: binaryInt(op, t, a.i, b.i)})
}

func compare(op expr.Op, t types.DType, a, b scalar) bool {
	var less, equal bool
	switch {
	case t.IsFloat():
		if a.f != a.f || b.f != b.f {
			return op == expr.OpNE
		}
		less, equal = a.f < b.f, a.f == b.f
	case t == types.U64:
		less, equal = uint64(a.i) < uint64(b.i), a.i == b.i
	default:
		less, equal = a.i < b.i, a.i == b.i
	}
	switch op {
	case expr.OpEQ:
		return equal
	case expr.OpNE:
		return !equal
	case expr.OpLT:
		return less
	case expr.OpLE:
		return less || equal
	case expr.OpGT:
		return !less && !equal
	}
	return !less
}

func binaryFloat(op expr.Op, a, b float64) float64 {
	switch op {
	case expr.OpAdd:
		return a + b
	case expr.OpSub:
		return a - b
	case expr.OpMul:
		return a * b
	case expr.OpDiv:
		return a / b
	case expr.OpMod:
		return math.Mod(a, b)
	case expr.OpFloorMod:
		m := math.Mod(a, b)
		if m != 0 && (m < 0) != (b < 0) {
			m += b
		}
		return m
	case expr.OpMin:
		return min(a, b)
	case expr.OpMax:
		return max(a, b)
	case expr.OpPow:
		return math.Pow(a, b)
	case expr.OpAtan2:
		return math.Atan2(a, b)
	}
	panic("teinterp: " + op.String() + " of floats")
}

// binaryInt computes in 64 bits what fits a narrower type; narrow wraps it. Every type but U64 fits.
func binaryInt(op expr.Op, t types.DType, a, b int64) int64 {
	switch op {
	case expr.OpAdd:
		return a + b
	case expr.OpSub:
		return a - b
	case expr.OpMul:
		return a * b
	case expr.OpMin:
		return min(a, b)
	case expr.OpMax:
		return max(a, b)
	case expr.OpAnd:
		return a & b
	case expr.OpOr:
		return a | b
	case expr.OpXor:
		return a ^ b
	case expr.OpShl, expr.OpShr:
		switch {
		case b < 0 || b >= int64(t.Bits()):
			return 0
		case op == expr.OpShl:
			return a << b
		}
		return a >> b
	}
	if b == 0 {
		return 0
	}
	q, r := a/b, a%b
	switch op {
	case expr.OpDiv:
		return q
	case expr.OpMod:
		return r
	case expr.OpFloorDiv:
		if r != 0 && (r < 0) != (b < 0) {
			q--
		}
		return q
	case expr.OpFloorMod:
		if r != 0 && (r < 0) != (b < 0) {
			r += b
		}
		return r
	}
	panic("teinterp: " + op.String() + " of integers")
}

func binaryUint64(op expr.Op, a, b uint64) uint64 {
	switch op {
	case expr.OpMin:
		return min(a, b)
	case expr.OpMax:
		return max(a, b)
	case expr.OpShl:
		return a << b
	case expr.OpShr:
		return a >> b
	case expr.OpDiv, expr.OpFloorDiv, expr.OpMod, expr.OpFloorMod:
		switch {
		case b == 0:
			return 0
		case op == expr.OpDiv || op == expr.OpFloorDiv:
			return a / b
		}
		return a % b
	}
	return uint64(binaryInt(op, types.U64, int64(a), int64(b)))
}

// unary applies fn to an operand of type t.
func unary(fn expr.Fn, t types.DType, a scalar) scalar {
	switch {
	case fn == expr.FnIsNaN:
		return truth(math.IsNaN(a.f))
	case fn == expr.FnIsInf:
		return truth(math.IsInf(a.f, 0))
	case t.IsFloat():
		return narrow(t, scalar{f: functions[fn](a.f)})
	}
	width := t.Bits()
	pattern := uint64(a.i) << (64 - width) >> (64 - width)
	switch fn {
	case expr.FnNeg:
		a.i = -a.i
	case expr.FnAbs:
		if t.IsSigned() {
			a.i = max(a.i, -a.i)
		}
	case expr.FnNot:
		a.i = ^a.i
	case expr.FnPopcnt:
		a.i = int64(bits.OnesCount64(pattern))
	case expr.FnClz:
		a.i = int64(bits.LeadingZeros64(pattern) - (64 - width))
	default:
		panic("teinterp: " + fn.String() + " of " + t.String())
	}
	return narrow(t, a)
}

// functions are the functions of floats, computed in float64 whatever the operand's type.
var functions = map[expr.Fn]func(float64) float64{
	expr.FnNeg:     func(x float64) float64 { return -x },
	expr.FnAbs:     math.Abs,
	expr.FnSqrt:    math.Sqrt,
	expr.FnRsqrt:   func(x float64) float64 { return 1 / math.Sqrt(x) },
	expr.FnExp:     math.Exp,
	expr.FnLog:     math.Log,
	expr.FnLog1p:   math.Log1p,
	expr.FnExpm1:   math.Expm1,
	expr.FnTanh:    math.Tanh,
	expr.FnSigmoid: func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
	expr.FnErf:     math.Erf,
	expr.FnSin:     math.Sin,
	expr.FnCos:     math.Cos,
	expr.FnTan:     math.Tan,
	expr.FnAsin:    math.Asin,
	expr.FnAcos:    math.Acos,
	expr.FnAtan:    math.Atan,
	expr.FnSinh:    math.Sinh,
	expr.FnCosh:    math.Cosh,
	expr.FnAsinh:   math.Asinh,
	expr.FnAcosh:   math.Acosh,
	expr.FnAtanh:   math.Atanh,
	expr.FnFloor:   math.Floor,
	expr.FnCeil:    math.Ceil,
	expr.FnTrunc:   math.Trunc,
	expr.FnRound:   math.RoundToEven,
}
