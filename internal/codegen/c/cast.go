package c

import (
	"lathe/internal/expr"
	"lathe/internal/types"
)

// cast writes a conversion by value.
func (e *emitter) cast(x *expr.Cast) value {
	a := e.expr(x.A)
	from := x.A.DType()
	if a.known && x.To == types.I64 && from != types.U64 {
		return index(a.i)
	}
	if x.To == types.I64 && !from.IsFloat() && from.Bits() <= 32 && fits32(e.span(x.A)) {
		if from != types.I32 {
			a = converted("int32_t", a)
		}
		a.narrow = true // C widens it where it must
		return a
	}
	return e.convert(x.To, from, a)
}

// convert writes the conversion of v from one type to another. Saturation and what C leaves open is a support function.
func (e *emitter) convert(to, from types.DType, v value) value {

	switch {
	case to == from:
		return v
	case isFloat16(from):
		return e.convert(to, types.F32, function(e.call("f32_of_"+short[from]), v))
	case to == types.Bool && from.IsFloat():
		return infix(v, "!=", e.float(0, from), equality)
	case to == types.Bool:
		return infix(v, "!=", integer(0, types.I32), equality)
	case isFloat16(to):
		return function(e.call(short[to]+"_of_f32"), e.convert(types.F32, from, v))
	case from.IsFloat() && !to.IsFloat():
		return function(e.call(short[to]+"_of_"+short[from]), v)
	}
	return converted(typeNames[to], v)
}

// reinterpret writes a conversion that keeps the bits. 16-bit floats are their bits already.
func (e *emitter) reinterpret(to, from types.DType, v value) value {
	if from == types.F32 || from == types.F64 {
		v = function(e.call("bits_of_"+short[from]), v)
		from = map[types.DType]types.DType{types.F32: types.U32, types.F64: types.U64}[from]
	}
	if to == types.F32 || to == types.F64 {
		return function(e.call(short[to]+"_of_bits"), converted(unsigned(from), v))
	}
	if typeNames[to] == typeNames[from] {
		return v
	}
	return converted(typeNames[to], v)
}
