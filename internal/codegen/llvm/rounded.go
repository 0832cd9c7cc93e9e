package llvm

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// magic is 1.5 * 2^23: the sum of it and a float32 below 2^22 has steps of 1, so that the addition rounds to nearest
// even, and its low bits are the integer.
const magic = 0x1.8p23

// A step is round(v) + c limited to the range of an integer type of up to 16 bits, as quantised kernels end with.
type step struct {
	v  expr.Expr
	c  float64
	to types.DType
}

// stepOf recognises T(round(v) + c).
func stepOf(x expr.Expr) (s step, ok bool) {
	cast, ok := x.(*expr.Cast)
	if !ok || !cast.To.IsInt() || cast.To.Bits() > 16 || cast.A.DType() != types.F32 {
		return s, false
	}
	u := cast.A
	if sum, ok := u.(*expr.Binary); ok && sum.Op == expr.OpAdd {
		f, ok := sum.B.(*expr.Float)
		if !ok || f.V != math.Trunc(f.V) || math.Abs(f.V) > 1<<16 {
			return s, false
		}
		u, s.c = sum.A, f.V
	}
	r, ok := u.(*expr.Unary)
	if !ok || r.Fn != expr.FnRound {
		return s, false
	}
	s.v, s.to = r.A, cast.To
	return s, true
}

// widerStepOf recognises a step that a type of 16 bits takes, which holds all of the integer type's numbers: these are the low bits as well.
func widerStepOf(x *expr.Cast) (s step, ok bool) {
	if !x.To.IsInt() || x.To.Bits() != 16 {
		return s, false
	}
	if s, ok = stepOf(x.A); !ok {
		return s, false
	}
	lo, hi := s.to.IntRange()
	least, most := x.To.IntRange()
	return s, least <= lo && hi <= most
}

// rounded emits a step, or one that is widened to float32 at once. v is clamped to the bounds less c, which rounding
// keeps, and the addition of the magic number rounds: its low bits are the integer, its difference to the magic number
// the float. It reports false when x has no such form.
//
//	uint8(round(v) + 3.0)                          →  uint8(bits(min(max(v, -3), 252) + 1.5*2^23) + 3)
//	float32(int32(uint8(round(v) + 3.0)) - 3)      →  min(max(v, -3), 252) + 1.5*2^23 - 1.5*2^23
func (e *emitter) rounded(x *expr.Cast) (value, bool) {
	if s, ok := stepOf(x); ok {
		return e.cast(s.to, e.stepBits(s)), true
	}
	if s, ok := widerStepOf(x); ok {
		return e.cast(x.To, e.stepBits(s)), true
	}
	if x.To != types.F32 || x.A.DType() != types.I32 {
		return value{}, false
	}
	zero, inner := int64(0), x.A
	if d, ok := inner.(*expr.Binary); ok && d.Op == expr.OpSub {
		if zero, ok = expr.IntOf(d.B); !ok {
			return value{}, false
		}
		inner = d.A
	}
	wide, ok := inner.(*expr.Cast)
	if !ok {
		return value{}, false
	}
	s, ok := stepOf(wide.A)
	if !ok || int64(s.c) != zero {
		return value{}, false
	}
	sum := e.magicSum(s)
	return value{t: types.F32, lanes: sum.lanes, s: e.temp("fsub %s, %s", sum, e.splat(constFloat(magic, types.F32), sum.lanes).s)}, true
}

// stepBits are 32 bits of which the low 16 are the integer.
func (e *emitter) stepBits(s step) value {
	sum := e.magicSum(s)
	bits := value{t: types.I32, lanes: sum.lanes}
	bits.s = e.temp("bitcast %s to %s", sum, bits.typ())
	return e.arith("add", bits, constInt(int64(s.c), types.I32))
}

// magicSum is the clamped operand of s and the magic number.
func (e *emitter) magicSum(s step) value {
	v := e.limited(s)
	return value{t: types.F32, lanes: v.lanes, s: e.temp("fadd %s, %s", v, e.splat(constFloat(magic, types.F32), v.lanes).s)}
}

// limited is the clamped operand of s: rounded, and c added, it is in the range of the type.
func (e *emitter) limited(s step) value {
	lo, hi := s.to.IntRange()
	least, most := float64(lo)-s.c, float64(hi)-s.c
	if v, ok := e.quotientStep(s, least, most, -s.c); ok {
		return v
	}
	return e.clamped(e.expr(s.v), least, most, -s.c)
}

// clamped limits v to [least, most]; NaN gives nan.
func (e *emitter) clamped(v value, least, most, nan float64) value {
	number := func(f float64) value { return e.splat(constFloat(f, types.F32), v.lanes) }
	r := e.choose(e.floatCompare("ogt", v, number(least)), v, number(least)) // the least where v is NaN
	r = e.choose(e.floatCompare("olt", r, number(most)), r, number(most))
	if nan != least {
		r = e.choose(e.floatCompare("ord", v, v), r, number(nan))
	}
	return r
}

// floatCompare emits a comparison of floats by LLVM's predicate.
func (e *emitter) floatCompare(pred string, a, b value) value {
	return value{t: types.Bool, lanes: a.lanes, s: e.temp("fcmp %s %s, %s", pred, a, b.s)}
}
