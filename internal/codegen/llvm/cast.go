package llvm

import (
	"fmt"
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// cast converts by value; see expr.Cast.
func (e *emitter) cast(to types.DType, a value) value {
	from := a.t
	if from == to {
		return a
	}
	r := value{t: to, lanes: a.lanes}
	conv := func(op string) value {
		r.s = e.temp("%s %s to %s", op, a, r.typ())
		return r
	}
	switch {
	case to == types.Bool && from.IsFloat():
		return value{t: to, lanes: a.lanes, s: e.temp("fcmp une %s, %s", a, e.splat(constFloat(0, from), a.lanes).s)}
	case to == types.Bool:
		return e.compare(expr.OpNE, a, e.splat(constInt(0, from), a.lanes))
	case a.digit != nil && to == types.F32:
		return e.digitAsFloat(a.digit)
	case from == types.BF16:
		return e.widenBF16(a, to)
	case to == types.BF16:
		return e.narrowBF16(e.cast(types.F32, a))
	case from == types.F16 && to == types.F32 && !e.convertsHalf():
		return e.widenF16(a)
	case from == types.F32 && to == types.F16 && !e.convertsHalf():
		return e.narrowF16(a)
	case from == types.F16 && to != types.F32:
		return e.cast(to, e.cast(types.F32, a))
	case to == types.F16 && from != types.F32:
		return e.cast(to, e.cast(types.F32, a))
	case from.IsFloat() && to.IsFloat():
		if from.Size() < to.Size() {
			return conv("fpext")
		}
		return conv("fptrunc")
	case from.IsFloat() && to.Bits() <= 16:
		return e.floatToNarrow(to, a)
	case from == types.F32 && to == types.I64 && a.lanes > 1 && e.target.ISA().Instructions.Indefinite && !e.target.Has(e.target.ISA().Instructions.Long):
		return e.floatToLong(a)
	case from.IsFloat() && a.lanes > 1 && e.target.ISA().Instructions.Indefinite:
		return e.floatToWide(to, a)
	case from.IsFloat():
		name := "fptosi.sat"
		if to.IsUnsigned() {
			name = "fptoui.sat"
		}
		return e.callTo(to, "", fmt.Sprintf("%s.%s.%s", name, suffix(to, a.lanes), suffix(from, a.lanes)), a)
	case to.IsFloat():
		if from.IsSigned() {
			return conv("sitofp")
		}
		return conv("uitofp")
	case a.known && from != types.U64:
		return constInt(wrap(a.i, to), to)
	case from.Bits() > to.Bits():
		return conv("trunc")
	case from.Bits() == to.Bits():
		r.s = a.s
		return r
	case from.IsSigned():
		return conv("sext")
	}
	return conv("zext")
}

// floatToWide converts what the integers of a vector hold, and selects the rest: LLVM would convert lane by lane, behind branches.
func (e *emitter) floatToWide(to types.DType, a value) value {
	above, least, op := math.Exp2(float64(to.Bits())), 0.0, "fptoui"
	if to.IsSigned() {
		above, least, op = above/2, -above/2, "fptosi"
	}
	number := func(x float64) value { return e.splat(constFloat(x, a.t), a.lanes) }
	compared := func(pred string, v, with value) value {
		return value{t: types.Bool, lanes: a.lanes, s: e.temp("fcmp %s %s, %s", pred, v, with.s)}
	}
	held := e.choose(compared("olt", a, number(above)), a, number(0)) // 0 where a is NaN
	held = e.choose(compared("ogt", held, number(least)), held, number(least))
	r := value{t: to, lanes: a.lanes}
	r.s = e.temp("%s %s to %s", op, held, r.typ())
	_, most := to.IntRange()
	if to == types.U64 {
		most = -1
	}
	return e.choose(compared("oge", a, number(above)), e.splat(constInt(most, to), a.lanes), r)
}

// floatToLong converts a float32 to an integer of 64 bits without an instruction for it, for which LLVM would go lane by lane: by way of
// integers of 32 bits where these hold all lanes, as they do of most numbers that programs round.
func (e *emitter) floatToLong(a value) value {
	size := e.callTo(a.t, "", "fabs."+suffix(a.t, a.lanes), a)
	limit := e.splat(constFloat(-math.MinInt32, a.t), a.lanes)
	small := value{t: types.Bool, lanes: a.lanes, s: e.temp("fcmp olt %s, %s", size, limit.s)}
	return e.branch(e.overLanes("and", small), func() value {
		return e.cast(types.I64, value{t: types.I32, lanes: a.lanes, s: e.temp("fptosi %s to %s", a, typeOf(types.I32, a.lanes))})
	}, func() value { return e.shiftedToLong(a) })
}

// shiftedToLong shifts the fraction of a float32 to where its exponent says, in integers of 64 bits.
func (e *emitter) shiftedToLong(a value) value {
	const bias, fraction, room = 127, 23, 39 // with so many bits of room the fraction ends below the sign
	n := a.lanes
	op, _ := e.words(n)
	long := func(name string, x, y value) value {
		return value{t: types.I64, lanes: n, s: e.temp("%s %s, %s", name, x, y.s)}
	}
	ordered := value{t: types.Bool, lanes: n, s: e.temp("fcmp ord %s, %s", a, a.s)}
	bits := e.bitsOf(e.choose(ordered, a, e.splat(constFloat(0, a.t), n)), types.U32)
	exponent := op("and", op("lshr", bits, fraction), 0xff)
	shift := e.callTo(types.U32, "", "umin."+suffix(types.U32, n),
		e.callTo(types.U32, "", "usub.sat."+suffix(types.U32, n), e.splat(constInt(bias+fraction+room, types.U32), n), exponent), e.splat(constInt(63, types.U32), n))
	digits := e.cast(types.I64, op("or", op("and", bits, 1<<fraction-1), 1<<fraction))
	size := long("lshr", long("shl", digits, e.splat(constInt(room, types.I64), n)), e.cast(types.I64, shift))
	sign := e.cast(types.I64, value{t: types.I32, lanes: n, s: op("ashr", bits, 31).s}) // all ones where it is negative
	r := long("sub", long("xor", size, sign), sign)
	return e.choose(e.compareWords("ugt", exponent, bias+fraction+room), long("xor", e.splat(constInt(math.MaxInt64, types.I64), n), sign), r)
}

// floatToNarrow saturates in floating point, where a vector takes two instructions, and converts by way of int32.
func (e *emitter) floatToNarrow(to types.DType, a value) value {
	lo, hi := to.IntRange()
	bound := func(pred string, v value, limit int64) value {
		c := e.splat(constFloat(float64(limit), a.t), a.lanes)
		is := value{t: types.Bool, lanes: a.lanes, s: e.temp("fcmp %s %s, %s", pred, v, c.s)}
		return e.choose(is, v, c) // the limit where v is NaN
	}
	v := bound("olt", bound("ogt", a, lo), hi)
	ordered := value{t: types.Bool, lanes: a.lanes, s: e.temp("fcmp ord %s, %s", a, a.s)}
	v = e.choose(ordered, v, e.splat(constFloat(0, a.t), a.lanes))
	wide := value{t: types.I32, lanes: a.lanes}
	wide.s = e.temp("fptosi %s to %s", v, wide.typ())
	return e.cast(to, wide)
}

// wrap keeps the low bits of v that type t has.
func wrap(v int64, t types.DType) int64 {
	n := 64 - t.Bits()
	if t.IsSigned() {
		return v << n >> n
	}
	return int64(uint64(v) << n >> n)
}

// memType is the LLVM type of n elements in memory: booleans are bytes.
func memType(t types.DType, n int) string {
	if t == types.Bool {
		t = types.U8
	}
	return typeOf(t, n)
}

func memSuffix(t types.DType) string {
	switch t {
	case types.Bool:
		return "i8"
	case types.F16:
		return "f16"
	case types.BF16:
		return "i16"
	}
	return suffix(t, 0)
}

func zeroOf(t types.DType) value {
	if t.IsFloat() {
		return constFloat(0, t)
	}
	return constInt(0, t)
}

// widen turns what lies in memory into a value to compute with.
func (e *emitter) widen(raw value) value {
	switch raw.t {
	case types.Bool:
		raw.t = types.U8
		return e.cast(types.Bool, raw)
	case types.F16, types.BF16:
		return e.cast(types.F32, raw)
	}
	return raw
}

// narrow turns a computed value into what lies in memory.
func (e *emitter) narrow(t types.DType, v value) value {
	if t == types.Bool {
		r := e.cast(types.U8, v)
		r.t = types.U8
		return r
	}
	return e.cast(t, v)
}
