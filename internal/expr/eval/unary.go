package eval

import (
	"math"
	"math/bits"

	"lathe/internal/expr"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

func unary(fn expr.Fn, t types.DType, a Code) Code {
	switch {
	case t == types.F32:
		switch fn {
		case expr.FnIsNaN:
			return func(s []uint64) uint64 { x := to32(a(s)); return truth(x != x) }
		case expr.FnIsInf:
			return func(s []uint64) uint64 { return truth(math.IsInf(float64(to32(a(s))), 0)) }
		}
		f := function(fn)
		return func(s []uint64) uint64 { return of32(float32(f(float64(to32(a(s)))))) }
	case t == types.F64:
		switch fn {
		case expr.FnIsNaN:
			return func(s []uint64) uint64 { return truth(math.IsNaN(to64(a(s)))) }
		case expr.FnIsInf:
			return func(s []uint64) uint64 { return truth(math.IsInf(to64(a(s)), 0)) }
		}
		f := function(fn)
		return func(s []uint64) uint64 { return of64(f(to64(a(s)))) }
	}
	f := unaryInt(fn, t)
	return func(s []uint64) uint64 { return wrap(t, f(a(s))) }
}

func unaryInt(fn expr.Fn, t types.DType) func(uint64) uint64 {
	empty := 64 - t.Bits()
	pattern := func(a uint64) uint64 { return a << empty >> empty }
	switch fn {
	case expr.FnNeg:
		return func(a uint64) uint64 { return -a }
	case expr.FnAbs:
		return func(a uint64) uint64 {
			if t.IsSigned() && int64(a) < 0 {
				return -a
			}
			return a
		}
	case expr.FnNot:
		return func(a uint64) uint64 { return ^a }
	case expr.FnPopcnt:
		return func(a uint64) uint64 { return uint64(bits.OnesCount64(pattern(a))) }
	}
	return func(a uint64) uint64 { return uint64(bits.LeadingZeros64(pattern(a)) - empty) }
}

// function is a function of floats in float64. Rounding its result to F32 is exact for those that IEEE 754 defines.
func function(fn expr.Fn) func(float64) float64 {
	switch fn {
	case expr.FnNeg:
		return func(x float64) float64 { return -x }
	case expr.FnAbs:
		return math.Abs
	case expr.FnSqrt:
		return math.Sqrt
	case expr.FnRsqrt:
		return func(x float64) float64 { return 1 / math.Sqrt(x) }
	case expr.FnExp, expr.FnExpNeg:
		return math.Exp
	case expr.FnLog:
		return log
	case expr.FnLog1p:
		return math.Log1p
	case expr.FnExpm1:
		return math.Expm1
	case expr.FnTanh:
		return math.Tanh
	case expr.FnSigmoid:
		return func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	case expr.FnErf:
		return math.Erf
	case expr.FnSin:
		return math.Sin
	case expr.FnCos:
		return math.Cos
	case expr.FnTan:
		return math.Tan
	case expr.FnAsin:
		return math.Asin
	case expr.FnAcos:
		return math.Acos
	case expr.FnAtan:
		return math.Atan
	case expr.FnSinh:
		return math.Sinh
	case expr.FnCosh:
		return math.Cosh
	case expr.FnAsinh:
		return math.Asinh
	case expr.FnAcosh:
		return math.Acosh
	case expr.FnAtanh:
		return math.Atanh
	case expr.FnFloor:
		return math.Floor
	case expr.FnCeil:
		return math.Ceil
	case expr.FnTrunc:
		return math.Trunc
	}
	return math.RoundToEven
}

// log is math.Log, whose amd64 version is wrong on subnormal numbers.
func log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

func cast(from, to types.DType, a Code) Code {
	if from.IsFloat() && from != types.F64 {
		from = types.F32 // the encoding is the same
	}
	switch {
	case to == types.Bool && from.IsFloat():
		return func(s []uint64) uint64 { return truth(Float(from, a(s)) != 0) }
	case to == types.Bool:
		return func(s []uint64) uint64 { return truth(a(s) != 0) }
	case from.IsFloat() && to.IsFloat():
		return castFloats(from, to, a)
	case from.IsFloat():
		return func(s []uint64) uint64 { return saturate(to, Float(from, a(s))) }
	case to == types.F64 && from == types.U64:
		return func(s []uint64) uint64 { return of64(float64(a(s))) }
	case to == types.F64:
		return func(s []uint64) uint64 { return of64(float64(int64(a(s)))) }
	case to.IsFloat() && from == types.U64:
		return castFloats(types.F32, to, func(s []uint64) uint64 { return of32(float32(a(s))) })
	case to.IsFloat():
		return castFloats(types.F32, to, func(s []uint64) uint64 { return of32(float32(int64(a(s)))) })
	}
	return func(s []uint64) uint64 { return wrap(to, a(s)) }
}

// castFloats rounds F64 to 16-bit floats by way of F32.
func castFloats(from, to types.DType, a Code) Code {
	if from == to {
		return a
	}
	switch to {
	case types.F64:
		return func(s []uint64) uint64 { return of64(float64(to32(a(s)))) }
	case types.F16:
		return func(s []uint64) uint64 { return of32(tensor.F16ToF32(tensor.F32ToF16(float32(Float(from, a(s)))))) }
	case types.BF16:
		return func(s []uint64) uint64 { return uint64(tensor.F32ToBF16(float32(Float(from, a(s))))) << 16 }
	}
	return func(s []uint64) uint64 { return of32(float32(to64(a(s)))) }
}

// saturate truncates toward zero and clamps to the range of an integer type; NaN gives 0.
func saturate(to types.DType, v float64) uint64 {
	if to == types.U64 {
		switch {
		case !(v > 0):
			return 0
		case v >= 1<<64:
			return math.MaxUint64
		}
		return uint64(v)
	}
	lo, hi := to.IntRange()
	switch {
	case v != v:
		return 0
	case v <= float64(lo):
		return uint64(lo)
	case v >= float64(hi):
		return uint64(hi)
	}
	return uint64(int64(v))
}

func reinterpret(from, to types.DType, a Code) Code {
	raw := a
	switch from {
	case types.F16:
		raw = func(s []uint64) uint64 { return uint64(tensor.F32ToF16(to32(a(s)))) }
	case types.BF16:
		raw = func(s []uint64) uint64 { return uint64(tensor.F32ToBF16(to32(a(s)))) }
	}
	switch to {
	case types.F16:
		return func(s []uint64) uint64 { return of32(tensor.F16ToF32(uint16(raw(s)))) }
	case types.BF16:
		return func(s []uint64) uint64 { return uint64(uint16(raw(s))) << 16 }
	case types.F32:
		return func(s []uint64) uint64 { return uint64(uint32(raw(s))) }
	}
	return func(s []uint64) uint64 { return wrap(to, raw(s)) }
}
