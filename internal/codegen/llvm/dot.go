package llvm

import (
	"fmt"
	"strings"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// dot adds d to acc, which may be a constant. The operands of a vector of dots are vectors of 32-bit lanes of four bytes.
func (e *emitter) dot(d *expr.Dot, acc value) value {
	if d.Width() == 2 && e.vec != nil {
		a, okA := e.pairOperand(d.A, d.AxisA)
		b, okB := e.pairOperand(d.B, d.AxisB)
		if okA && okB {
			return e.dotOfPairs(e.splat(acc, e.lanes), a, b)
		}
	} else if e.vec != nil {
		a, okA := e.dotOperand(d.A, d.AxisA)
		b, okB := e.dotOperand(d.B, d.AxisB)
		if okA && okB {
			return e.dotVector(e.splat(acc, e.lanes), operand{a, d.A.From.(*loop.Buffer)}, operand{b, d.B.From.(*loop.Buffer)})
		}
	}
	if e.vec != nil {
		return e.arith("add", acc, e.perLane(func() value { return e.dot(d, constInt(0, types.I32)) }))
	}
	for j := range d.Width() {
		a, b := d.Term(j)
		p := e.arith("mul", e.cast(types.I32, e.load(a)), e.cast(types.I32, e.load(b)))
		acc = e.arith("add", acc, p)
	}
	return acc
}

// dotOperand loads the bytes of one operand: four that all lanes share, a run of four for each lane, or four vectors
// whose bytes are interleaved. ok is false where the lanes' bytes lie otherwise.
func (e *emitter) dotOperand(l *expr.Load, axis int) (v value, ok bool) {
	b := l.From.(*loop.Buffer)
	flat := e.flat(b, l.Index)
	p := e.place(flat)
	step := int64(b.Strides()[axis])
	v = value{t: types.I32, lanes: e.lanes}
	if !p.ok || b.Scope == loop.Reg {
		return v, false
	}
	switch {
	case p.coef == 0 && step == 1:
		load := func() value {
			ptr, align := e.address(b, p)
			return value{t: types.I32, s: e.temp("load i32, ptr %s, align %d", ptr, align)}
		}
		if e.mask != "" {
			return e.splat(e.ifAny(load), e.lanes), true
		}
		return e.splat(load(), e.lanes), true
	case p.coef == expr.DotWidth && step == 1:
		ptr, align := e.address(b, p)
		if e.mask != "" {
			v.s = e.maskedLoad(v.typ(), suffix(v.t, v.lanes), ptr, align)
			return v, true
		}
		v.s = e.temp("load %s, ptr %s, align %d", v.typ(), ptr, align)
		return v, true
	case p.coef == 1 && e.mask == "":
		v.s = e.interleaved(b, flat, step)
		return v, true
	}
	return v, false
}

// interleaved loads a vector of bytes for each term of a dot and puts the four bytes of a lane together.
func (e *emitter) interleaved(b *loop.Buffer, flat arith.Linear, step int64) string {
	n := e.lanes
	bytes := func(lanes int, first int64) string {
		l := flat
		l.Const += first
		ptr, align := e.address(b, e.place(l))
		return e.temp("load <%d x i8>, ptr %s, align %d", lanes, ptr, align)
	}
	var all string
	if step == int64(n) {
		all = bytes(expr.DotWidth*n, 0)
	} else {
		var half [2]string
		for i := range half {
			lo, hi := bytes(n, int64(2*i)*step), bytes(n, int64(2*i+1)*step)
			half[i] = e.temp("shufflevector <%d x i8> %s, <%d x i8> %s, <%d x i32> <%s>", n, lo, n, hi, 2*n, sequence(2*n, func(i int) int { return i }))
		}
		all = e.temp("shufflevector <%d x i8> %s, <%d x i8> %s, <%d x i32> <%s>", 2*n, half[0], 2*n, half[1], 4*n, sequence(4*n, func(i int) int { return i }))
	}
	mixed := e.temp("shufflevector <%d x i8> %s, <%d x i8> poison, <%d x i32> <%s>", 4*n, all, 4*n, 4*n, sequence(4*n, func(i int) int { return i%4*n + i/4 }))
	return e.temp("bitcast <%d x i8> %s to <%d x i32>", 4*n, mixed, n)
}

// sequence writes n shuffle indices.
func sequence(n int, at func(i int) int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("i32 %d", at(i))
	}
	return strings.Join(list, ", ")
}

// An operand of dot products are four bytes of a buffer in each lane.
type operand struct {
	value
	of *loop.Buffer
}

// dotVector adds the products of the bytes of x and y to acc.
func (e *emitter) dotVector(acc value, x, y operand) value {
	if x.of.DType == types.I8 && y.of.DType == types.U8 {
		x, y = y, x
	}
	a, b, ta, tb := x.value, y.value, x.of.DType, y.of.DType
	if name := e.target.DotProduct(ta.String(), tb.String(), e.lanes); name != "" {
		bytes := func(v value) value {
			r := value{t: types.I8, lanes: expr.DotWidth * e.lanes}
			r.s = e.temp("bitcast %s to %s", v, r.typ())
			return r
		}
		return e.callTo(types.I32, "", name, acc, bytes(a), bytes(b))
	}
	if sum, ok := e.pairsOfBytes(acc, x, y); ok {
		return sum
	}
	for odd := range 2 {
		acc = e.dotOfPairs(acc, e.everySecond(a, ta, odd), e.everySecond(b, tb, odd))
	}
	return acc
}

// pairsOfBytes adds the products by an instruction that adds two of them to an int16, where the bounds of x and y show that none saturates.
func (e *emitter) pairsOfBytes(acc value, x, y operand) (value, bool) {
	const most = 1<<15 - 1
	if y.of.Most == 0 || 2*255*y.of.Most > most {
		return value{}, false
	}
	pairs := e.target.PairProduct(x.of.DType.String(), y.of.DType.String(), e.lanes)
	wide := e.target.PairProduct(types.I16.String(), types.I16.String(), e.lanes)
	if pairs == "" || wide == "" {
		return value{}, false
	}
	bytes := func(v value) value {
		r := value{t: types.I8, lanes: expr.DotWidth * e.lanes}
		r.s = e.temp("bitcast %s to %s", v, r.typ())
		return r
	}
	short := value{t: types.I16, lanes: 2 * e.lanes}
	sum := value{t: types.I32, lanes: e.lanes}
	call := func(to value, name string, a, b value) value {
		e.declare(fmt.Sprintf("%s @llvm.%s(%s, %s)", to.typ(), name, a.typ(), b.typ()))
		to.s = e.temp("call %s @llvm.%s(%s, %s)", to.typ(), name, a, b)
		return to
	}
	short = call(short, pairs, bytes(x.value), bytes(y.value))
	return e.arith("add", acc, call(sum, wide, short, e.splat(constInt(1, types.I16), short.lanes))), true
}

// everySecond is the even or the odd bytes of v, widened to int16.
func (e *emitter) everySecond(v value, t types.DType, odd int) value {
	short := value{t: types.I16, lanes: 2 * v.lanes}
	short.s = e.temp("bitcast %s to %s", v, short.typ())
	eight := e.splat(constInt(8, types.I16), short.lanes)
	shift := func(op string, v value) value {
		return value{t: types.I16, lanes: v.lanes, s: e.temp("%s %s, %s", op, v, eight.s)}
	}
	if odd == 0 && t == types.U8 {
		return e.arith("and", short, constInt(255, types.I16))
	}
	if odd == 0 {
		short = shift("shl", short)
	}
	if t == types.U8 {
		return shift("lshr", short)
	}
	return shift("ashr", short)
}
