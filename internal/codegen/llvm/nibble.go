package llvm

import (
	"fmt"
	"math/bits"

	"lathe/internal/arith"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// inDigits reports whether lanes of elements of 4 bits at a place are loaded at once.
func (p place) inDigits() bool {
	return p.ok && (p.coef == 0 || p.coef == 2 || p.coef == 4 || p.coef == loop.NibbleLanes)
}

// nibbles loads elements of 4 bits as int32, a scalar or a vector. Lanes that are the same digit of neighbouring words are one
// contiguous load, a shift and a mask; all others are loaded one by one.
func (e *emitter) nibbles(b *loop.Buffer, p place) value {
	digit := int64(loop.NibbleLanes)
	typ := types.U32
	switch p.coef {
	case 0:
		if e.mask != "" { // no lane may need it: the address may then be outside the buffer
			return e.ifAny(func() value { return e.nibbleAt(b, p) })
		}
		return e.nibbleAt(b, p)
	case loop.NibbleLanes:
	case 4:
		digit, typ = p.coef, types.U16
	case 2:
		digit, typ = p.coef, types.U8
	default:
		fail("%s: elements of 4 bits with stride %d", b.Name, p.coef)
	}
	word, shift := e.split(p, digit)
	ptr, align := e.addressAs(typ, b, word)
	raw := value{t: typ, lanes: e.lanes}
	if mt := memType(typ, e.lanes); e.mask == "" {
		raw.s = e.temp("load %s, ptr %s, align %d", mt, ptr, align)
	} else {
		raw.s = e.maskedLoad(mt, fmt.Sprintf("v%d%s", e.lanes, memSuffix(typ)), ptr, align)
	}
	return e.digit(b.DType, e.cast(types.U32, raw), shift)
}

// nibbleAt loads one element.
func (e *emitter) nibbleAt(b *loop.Buffer, p place) value {
	word, shift := e.split(p, 2)
	ptr, _ := e.addressAs(types.U8, b, word)
	return e.scalar(func() value {
		return e.digit(b.DType, e.cast(types.U32, value{t: types.U8, s: e.temp("load i8, ptr %s, align 1", ptr)}), shift)
	})
}

// split turns a place in elements into one in words of so many, and the number of the lowest bit within the word.
func (e *emitter) split(p place, elements int64) (word place, shift value) {
	word = place{ok: true, off: arith.FloorDiv(p.off, elements)}
	rest := p.off - word.off*elements
	var odd value
	for _, t := range p.terms {
		if t.coef%elements == 0 {
			word.terms = append(word.terms, term{t.v, t.coef / elements})
			continue
		}
		x := e.arith("mul", t.v, constInt(t.coef, types.I64))
		if odd.s == "" {
			odd = x
		} else {
			odd = e.arith("add", odd, x)
		}
	}
	if odd.s == "" {
		return word, constInt(4*rest, types.U32)
	}
	odd = e.arith("add", odd, constInt(rest, types.I64))
	log := bits.TrailingZeros64(uint64(elements))
	high := value{t: types.I64, s: e.temp("ashr %s, %d", odd, log)}
	low := value{t: types.I64, s: e.temp("and %s, %d", odd, elements-1)}
	word.terms = append(word.terms, term{high, 1})
	return word, e.cast(types.U32, e.arith("mul", low, constInt(4, types.I64)))
}

// A digit is an element of type t in words, whose lowest bit is at shift.
type digit struct {
	t     types.DType
	word  value
	shift int64
}

// digitAsFloat is the element as float32. Where one instruction masks the digit and gives it the exponent of 16, the digit in the highest bits of the
// mantissa, a subtraction makes it the number: conversions have fewer units than both.
func (e *emitter) digitAsFloat(d *digit) value {
	const place, exponent = 19, 0x41800000 // 16 + digit
	var at value
	if up := place - d.shift; up >= 0 {
		at = e.arith("shl", d.word, constInt(up, types.U32))
	} else {
		at = e.arith("lshr", d.word, constInt(-up, types.U32))
	}
	bits, less := int64(exponent), 16.0
	if d.t == types.I4 { // with the other sign bit it is 8 more
		bits, less = exponent^8<<place, 24
	}
	at = e.arith("xor", e.arith("and", at, constInt(15<<place, types.U32)), constInt(bits, types.U32))
	f := value{t: types.F32, lanes: at.lanes}
	f.s = e.temp("bitcast %s to %s", at, f.typ())
	r := value{t: types.F32, lanes: at.lanes}
	r.s = e.temp("fsub %s, %s", f, e.splat(constFloat(less, types.F32), at.lanes).s)
	return r
}

// digit is the element of type t whose lowest bit is at shift in words.
func (e *emitter) digit(t types.DType, word, shift value) value {
	r := value{t: types.I32, lanes: word.lanes}
	if has := e.target.ISA().Instructions.Ternary; word.lanes > 0 && shift.known && has != "" && e.target.Has(has) {
		r.digit = &digit{t, word, shift.i}
	}
	if t == types.U4 {
		if !shift.known || shift.i != 0 {
			word.s = e.temp("lshr %s, %s", word, e.splat(shift, word.lanes).s)
		}
		r.s = e.temp("and %s, %s", word, e.splat(constInt(15, types.U32), word.lanes).s)
		return r
	}
	up := e.arith("sub", constInt(28, types.U32), shift)
	if !up.known || up.i != 0 {
		word.s = e.temp("shl %s, %s", word, e.splat(up, word.lanes).s)
	}
	r.s = e.temp("ashr %s, %s", word, e.splat(constInt(28, types.U32), word.lanes).s)
	return r
}
