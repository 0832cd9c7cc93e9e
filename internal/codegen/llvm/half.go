package llvm

import "lathe/internal/types"

// convertsHalf reports whether the target converts float16 by instructions.
func (e *emitter) convertsHalf() bool {
	converts := e.target.ISA().Instructions.Half
	return converts == nil || converts(e.target.Has)
}

// bitsOf views the elements of a as unsigned integers of their size.
func (e *emitter) bitsOf(a value, t types.DType) value {
	bits := value{t: t, lanes: a.lanes}
	bits.s = e.temp("bitcast %s to %s", a, bits.typ())
	return bits
}

func (e *emitter) floatOf(bits value) value {
	r := value{t: types.F32, lanes: bits.lanes}
	r.s = e.temp("bitcast %s to %s", bits, r.typ())
	return r
}

// words returns what computes with uint32 and its constants, on n lanes.
func (e *emitter) words(n int) (op func(name string, x value, y int64) value, two func(name string, x, y value) value) {
	two = func(name string, x, y value) value {
		return value{t: types.U32, lanes: n, s: e.temp("%s %s, %s", name, x, y.s)}
	}
	return func(name string, x value, y int64) value { return two(name, x, e.splat(constInt(y, types.U32), n)) }, two
}

// widenF16 moves exponent and fraction to their places and adds the difference of the biases. What has the exponent of
// subnormal numbers gets an exponent first and loses it again, which leaves the fraction as a normal float32: no
// subnormal float32 is computed, which some processors flush to zero.
func (e *emitter) widenF16(a value) value {
	n := a.lanes
	op, two := e.words(n)
	wide := e.cast(types.U32, e.bitsOf(a, types.U16))
	sign := op("shl", op("and", wide, 0x8000), 16)
	rest := op("shl", op("and", wide, 0x7fff), 13)
	is := func(pred string, limit int64) value { return e.compareWords(pred, rest, limit) }
	normal := op("add", rest, (127-15)<<23)
	special := op("add", rest, 2*(127-15)<<23)
	const least = (127 - 14) << 23 // 2^-14
	small := e.bitsOf(e.arith("fsub", e.floatOf(op("add", rest, least)), e.splat(constFloat(0x1p-14, types.F32), n)), types.U32)
	bits := e.choose(is("uge", 31<<23), special, normal)
	bits = e.choose(is("ult", 1<<23), small, bits)
	return e.floatOf(two("or", bits, sign))
}

// narrowF16 rounds to nearest even: in the bits where the result is normal, and by adding 0.5, whose last bit is the
// unit of subnormal float16, where it is not. A NaN keeps its first bits and becomes quiet.
func (e *emitter) narrowF16(a value) value {
	n := a.lanes
	op, two := e.words(n)
	bits := e.bitsOf(a, types.U32)
	size := op("and", bits, 0x7fffffff)
	sign := op("and", op("lshr", bits, 16), 0x8000)
	odd := op("and", op("lshr", size, 13), 1)
	normal := op("lshr", two("add", op("add", size, -(127-15)<<23+0xfff), odd), 13)
	half := e.splat(constFloat(0.5, types.F32), n)
	small := op("sub", e.bitsOf(e.arith("fadd", e.floatOf(size), half), types.U32), 126<<23)
	nan := op("or", op("and", op("lshr", size, 13), 0x3ff), 0x7e00)
	is := func(pred string, limit int64) value { return e.compareWords(pred, size, limit) }
	r := e.choose(is("ult", (127-14)<<23), small, normal)
	r = e.choose(is("uge", (127+16)<<23), e.splat(constInt(0x7c00, types.U32), n), r)
	r = e.choose(is("ugt", 255<<23), nan, r)
	short := e.cast(types.U16, two("or", r, sign))
	out := value{t: types.F16, lanes: n}
	out.s = e.temp("bitcast %s to %s", short, out.typ())
	return out
}

func (e *emitter) compareWords(pred string, a value, limit int64) value {
	return value{t: types.Bool, lanes: a.lanes, s: e.temp("icmp %s %s, %s", pred, a, e.splat(constInt(limit, types.U32), a.lanes).s)}
}

// widenBF16 and narrowBF16 use integers only: few targets convert bfloat16, and LLVM calls a library on the others.
func (e *emitter) widenBF16(a value, to types.DType) value {
	bits := value{t: types.U16, lanes: a.lanes}
	bits.s = e.temp("bitcast %s to %s", a, bits.typ())
	wide := e.cast(types.U32, bits)
	up := value{t: types.U32, lanes: a.lanes, s: e.temp("shl %s, %s", wide, e.splat(constInt(16, types.U32), a.lanes).s)}
	r := value{t: types.F32, lanes: a.lanes}
	r.s = e.temp("bitcast %s to %s", up, r.typ())
	return e.cast(to, r)
}

func (e *emitter) narrowBF16(a value) value {
	n := a.lanes
	c := func(v int64) value { return e.splat(constInt(v, types.U32), n) }
	bits := value{t: types.U32, lanes: n}
	bits.s = e.temp("bitcast %s to %s", a, bits.typ())
	op := func(name string, x, y value) value {
		return value{t: types.U32, lanes: n, s: e.temp("%s %s, %s", name, x, y.s)}
	}
	odd := op("and", op("lshr", bits, c(16)), c(1))
	round := op("add", op("add", bits, c(0x7fff)), odd)
	nan := op("or", bits, c(0x400000))
	isNaN := value{t: types.Bool, lanes: n, s: e.temp("fcmp uno %s, %s", a, a.s)}
	top := op("lshr", e.choose(isNaN, nan, round), c(16))
	short := e.cast(types.U16, top)
	r := value{t: types.BF16, lanes: n}
	r.s = e.temp("bitcast %s to %s", short, r.typ())
	return r
}
