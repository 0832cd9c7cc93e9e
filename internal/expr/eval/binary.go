package eval

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// binary is the code of op on two values of type t. The commonest operators get closures of their own.
func binary(op expr.Op, t types.DType, a, b Code) Code {
	switch t {
	case types.F32:
		switch op {
		case expr.OpAdd:
			return func(s []uint64) uint64 { return of32(to32(a(s)) + to32(b(s))) }
		case expr.OpSub:
			return func(s []uint64) uint64 { return of32(to32(a(s)) - to32(b(s))) }
		case expr.OpMul:
			return func(s []uint64) uint64 { return of32(to32(a(s)) * to32(b(s))) }
		}
		if op.Compares() {
			f := compare[float32](op)
			return func(s []uint64) uint64 { return truth(f(to32(a(s)), to32(b(s)))) }
		}
		f := binary32(op)
		return func(s []uint64) uint64 { return of32(f(to32(a(s)), to32(b(s)))) }
	case types.F64:
		if op.Compares() {
			f := compare[float64](op)
			return func(s []uint64) uint64 { return truth(f(to64(a(s)), to64(b(s)))) }
		}
		f := binary64(op)
		return func(s []uint64) uint64 { return of64(f(to64(a(s)), to64(b(s)))) }
	case types.Bool:
		switch op {
		case expr.OpAnd:
			return func(s []uint64) uint64 { return truth(a(s) != 0 && b(s) != 0) }
		case expr.OpOr:
			return func(s []uint64) uint64 { return truth(a(s) != 0 || b(s) != 0) }
		}
	case types.I64:
		switch op {
		case expr.OpAdd:
			return func(s []uint64) uint64 { return a(s) + b(s) }
		case expr.OpMul:
			return func(s []uint64) uint64 { return a(s) * b(s) }
		}
	}
	if op.Compares() {
		if t.IsSigned() {
			f := compare[int64](op)
			return func(s []uint64) uint64 { return truth(f(int64(a(s)), int64(b(s)))) }
		}
		f := compare[uint64](op)
		return func(s []uint64) uint64 { return truth(f(a(s), b(s))) }
	}
	f := binaryInt(op, t)
	return func(s []uint64) uint64 { return wrap(t, f(a(s), b(s))) }
}

// compare gives the comparison; with NaN all but != are false.
func compare[T int64 | uint64 | float32 | float64](op expr.Op) func(a, b T) bool {
	switch op {
	case expr.OpEQ:
		return func(a, b T) bool { return a == b }
	case expr.OpNE:
		return func(a, b T) bool { return a != b }
	case expr.OpLT:
		return func(a, b T) bool { return a < b }
	case expr.OpLE:
		return func(a, b T) bool { return a <= b }
	case expr.OpGT:
		return func(a, b T) bool { return a > b }
	}
	return func(a, b T) bool { return a >= b }
}

// binary32 rounds once: the quotient and remainders of floats are exact in float64 or rounded there beyond twice the
// precision of float32.
func binary32(op expr.Op) func(a, b float32) float32 {
	switch op {
	case expr.OpMin:
		return func(a, b float32) float32 { return min(a, b) }
	case expr.OpMax:
		return func(a, b float32) float32 { return max(a, b) }
	case expr.OpGreater:
		return func(a, b float32) float32 {
			if a < b {
				return b
			}
			return a
		}
	}
	f := binary64(op)
	return func(a, b float32) float32 { return float32(f(float64(a), float64(b))) }
}

func binary64(op expr.Op) func(a, b float64) float64 {
	switch op {
	case expr.OpAdd:
		return func(a, b float64) float64 { return a + b }
	case expr.OpSub:
		return func(a, b float64) float64 { return a - b }
	case expr.OpMul:
		return func(a, b float64) float64 { return a * b }
	case expr.OpDiv:
		return func(a, b float64) float64 { return a / b }
	case expr.OpMod:
		return math.Mod
	case expr.OpFloorMod:
		return floorMod
	case expr.OpMin:
		return func(a, b float64) float64 { return min(a, b) }
	case expr.OpMax:
		return func(a, b float64) float64 { return max(a, b) }
	case expr.OpGreater:
		return func(a, b float64) float64 {
			if a < b {
				return b
			}
			return a
		}
	case expr.OpPow:
		return math.Pow
	}
	return atan2
}

// atan2 is math.Atan2, which takes a quotient that underflows for 0.
func atan2(y, x float64) float64 {
	if x < 0 && y != 0 && y/x == 0 {
		return math.Copysign(math.Pi, y)
	}
	return math.Atan2(y, x)
}

func floorMod(a, b float64) float64 {
	m := math.Mod(a, b)
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}

// binaryInt gives op on encoded integers; the result is not wrapped to t yet.
func binaryInt(op expr.Op, t types.DType) func(a, b uint64) uint64 {
	signed := t.IsSigned()
	switch op {
	case expr.OpAdd:
		return func(a, b uint64) uint64 { return a + b }
	case expr.OpSub:
		return func(a, b uint64) uint64 { return a - b }
	case expr.OpMul:
		return func(a, b uint64) uint64 { return a * b }
	case expr.OpAnd:
		return func(a, b uint64) uint64 { return a & b }
	case expr.OpOr:
		return func(a, b uint64) uint64 { return a | b }
	case expr.OpXor:
		return func(a, b uint64) uint64 { return a ^ b }
	case expr.OpMin, expr.OpMax:
		least := op == expr.OpMin
		return func(a, b uint64) uint64 {
			less := a < b
			if signed {
				less = int64(a) < int64(b)
			}
			if less == least {
				return a
			}
			return b
		}
	case expr.OpShl, expr.OpShr:
		return shift(op, t)
	}
	if signed {
		f := divideSigned(op)
		return func(a, b uint64) uint64 { return uint64(f(int64(a), int64(b))) }
	}
	quotient := op == expr.OpDiv || op == expr.OpFloorDiv
	return func(a, b uint64) uint64 {
		switch {
		case b == 0:
			return 0
		case quotient:
			return a / b
		}
		return a % b
	}
}

// shift reads a negative count as a huge one.
func shift(op expr.Op, t types.DType) func(a, b uint64) uint64 {
	width, signed := uint64(t.Bits()), t.IsSigned()
	return func(a, b uint64) uint64 {
		switch {
		case b >= width:
			return 0
		case op == expr.OpShl:
			return a << b
		case signed:
			return uint64(int64(a) >> b)
		}
		return a >> b
	}
}

func divideSigned(op expr.Op) func(a, b int64) int64 {
	return func(a, b int64) int64 {
		if b == 0 {
			return 0
		}
		q, r := a/b, a%b // Go's -1<<63 / -1 wraps
		opposite := r != 0 && (r < 0) != (b < 0)
		switch {
		case op == expr.OpDiv:
			return q
		case op == expr.OpMod:
			return r
		case op == expr.OpFloorDiv && opposite:
			return q - 1
		case op == expr.OpFloorDiv:
			return q
		case opposite:
			return r + b
		}
		return r
	}
}
