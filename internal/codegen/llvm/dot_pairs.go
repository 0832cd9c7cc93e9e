package llvm

import (
	"fmt"

	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// dotOfPairs adds to each lane of acc the products of its two int16 in x and y, which have twice as many elements.
func (e *emitter) dotOfPairs(acc, x, y value) value {
	if name := e.target.PairProduct(types.I16.String(), types.I16.String(), acc.lanes); name != "" {
		sum := value{t: types.I32, lanes: acc.lanes}
		e.declare(fmt.Sprintf("%s @llvm.%s(%s, %s)", sum.typ(), name, x.typ(), y.typ()))
		sum.s = e.temp("call %s @llvm.%s(%s, %s)", sum.typ(), name, x, y)
		return e.arith("add", acc, sum)
	}
	for high := range 2 {
		acc = e.arith("add", acc, e.arith("mul", e.half(x, high), e.half(y, high)))
	}
	return acc
}

// half is the low or the high int16 of each 32-bit lane, widened to int32.
func (e *emitter) half(v value, high int) value {
	wide := value{t: types.I32, lanes: v.lanes / 2}
	wide.s = e.temp("bitcast %s to %s", v, wide.typ())
	sixteen := e.splat(constInt(16, types.I32), wide.lanes)
	if high == 0 {
		wide.s = e.temp("shl %s, %s", wide, sixteen.s)
	}
	return value{t: types.I32, lanes: wide.lanes, s: e.temp("ashr %s, %s", wide, sixteen.s)}
}

// pairOperand loads two elements of one operand for each lane, as int16: two that all lanes share, a run of two for each lane, or two
// vectors whose elements are interleaved. ok is false where the lanes' elements lie otherwise.
func (e *emitter) pairOperand(l *expr.Load, axis int) (v value, ok bool) {
	b := l.From.(*loop.Buffer)
	flat := e.flat(b, l.Index)
	p := e.place(flat)
	step := int64(b.Strides()[axis])
	if !p.ok || b.Scope == loop.Reg {
		return v, false
	}
	switch {
	case p.coef == 0 && step == 1:
		load := func() value {
			ptr, align := e.address(b, p)
			pair := value{t: b.DType, lanes: 2}
			pair.s = e.temp("load %s, ptr %s, align %d", pair.typ(), ptr, align)
			return value{t: types.I32, s: e.temp("bitcast %s to i32", e.cast(types.I16, pair))}
		}
		word := value{}
		if e.mask != "" {
			word = e.ifAny(load)
		} else {
			word = load()
		}
		v = value{t: types.I16, lanes: 2 * e.lanes}
		v.s = e.temp("bitcast %s to %s", e.splat(word, e.lanes), v.typ())
		return v, true
	case p.coef == 2 && step == 1:
		v = value{t: b.DType, lanes: 2 * e.lanes}
		ptr, align := e.address(b, p)
		if e.mask != "" {
			pairs := value{t: types.I16, lanes: e.lanes}
			if b.DType.Size() == 2 {
				pairs.t = types.I32
			}
			pairs.s = e.maskedLoad(pairs.typ(), suffix(pairs.t, pairs.lanes), ptr, align)
			v.s = e.temp("bitcast %s to %s", pairs, v.typ())
		} else {
			v.s = e.temp("load %s, ptr %s, align %d", v.typ(), ptr, align)
		}
		return e.cast(types.I16, v), true
	case p.coef == 1 && e.mask == "":
		var terms [2]value
		for j := range terms {
			at := flat
			at.Const += int64(j) * step
			ptr, align := e.address(b, e.place(at))
			terms[j] = value{t: b.DType, lanes: e.lanes}
			terms[j].s = e.temp("load %s, ptr %s, align %d", terms[j].typ(), ptr, align)
			terms[j] = e.cast(types.I16, terms[j])
		}
		v = value{t: types.I16, lanes: 2 * e.lanes}
		v.s = e.temp("shufflevector %s, %s, <%d x i32> <%s>", terms[0], terms[1], v.lanes,
			sequence(v.lanes, func(i int) int { return i%2*e.lanes + i/2 }))
		return v, true
	}
	return v, false
}
