package llvm

import (
	"fmt"
	"math"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/intrin"
	"lathe/internal/loop"
	"lathe/internal/types"
)

var posInf = math.Inf(1)

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
	case from == types.BF16:
		return e.widenBF16(a, to)
	case to == types.BF16:
		return e.narrowBF16(e.cast(types.F32, a))
	case from == types.F16 && to != types.F32:
		return e.cast(to, e.cast(types.F32, a))
	case to == types.F16 && from != types.F32:
		return e.cast(to, e.cast(types.F32, a))
	case from.IsFloat() && to.IsFloat():
		if from.Size() < to.Size() {
			return conv("fpext")
		}
		return conv("fptrunc")
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

// wrap keeps the low bits of v that type t has.
func wrap(v int64, t types.DType) int64 {
	n := 64 - t.Bits()
	if t.IsSigned() {
		return v << n >> n
	}
	return int64(uint64(v) << n >> n)
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

// A place is where an access goes: element base + coef*lane of a buffer.
type place struct {
	terms []term // scalar summands of base, in elements
	off   int64
	coef  int64
	ok    bool // the index is linear in the vector variable
}

type term struct {
	v    value
	coef int64
}

// scalar evaluates what is the same in all lanes.
func (e *emitter) scalar(f func() value) value {
	vec, lanes, mask := e.vec, e.lanes, e.mask
	e.vec, e.lanes, e.mask = nil, 0, ""
	v := f()
	e.vec, e.lanes, e.mask = vec, lanes, mask
	return v
}

// flat is the index of an access in elements from the buffer's base.
func (e *emitter) flat(b *loop.Buffer, index []expr.Expr) arith.Linear {
	var sum expr.Expr = expr.Index(0)
	for i, s := range b.StridesOf() {
		sum = expr.Add(sum, expr.Mul(index[i], expr.Index(s)))
	}
	known := map[*expr.Var]expr.Expr{}
	expr.Walk(sum, func(x expr.Expr) bool {
		if v, ok := x.(*expr.Var); ok {
			if c := e.env[v]; c.known {
				known[v] = &expr.Int{V: c.i, Type: types.I64}
			}
		}
		return true
	})
	return arith.LinearOf(e.ranges.Simplify(expr.Subst(sum, known)))
}

func (e *emitter) place(l arith.Linear) place {
	p := place{off: l.Const, ok: true}
	for _, t := range l.Terms {
		switch {
		case e.vec != nil && t.Atom == expr.Expr(e.vec):
			p.coef = t.Coef
			if !e.vecBase.known {
				p.terms = append(p.terms, term{e.vecBase, t.Coef})
			} else {
				p.off += t.Coef * e.vecBase.i
			}
		case e.vec != nil && (e.isVector(t.Atom) || e.mask != "" && hasLoad(t.Atom)):
			return place{}
		default:
			p.terms = append(p.terms, term{e.scalar(func() value { return e.expr(t.Atom) }), t.Coef})
		}
	}
	return p
}

// isVector reports whether evaluating x gives a vector: through a variable that was bound to one, or through a load.
func (e *emitter) isVector(x expr.Expr) bool {
	found := false
	expr.Walk(x, func(y expr.Expr) bool {
		if v, ok := y.(*expr.Var); ok && e.env[v].lanes > 0 {
			found = true
		}
		return !found
	})
	return found
}

// address emits the pointer to the place's lane 0 and returns its alignment in bytes.
func (e *emitter) address(b *loop.Buffer, p place) (string, int) {
	size := b.DType.Size()
	align := max(b.Align, size)
	if b.Scope == loop.Worker {
		align = scratchAlign
	}
	ptr := e.bufs[b].ptr
	typ := llvmTypes[b.DType]
	if b.DType == types.Bool {
		typ = "i8"
	}
	var sum value
	for i, t := range p.terms {
		x := e.arith("mul", t.v, constInt(t.coef, types.I64))
		if i == 0 {
			sum = x
		} else {
			sum = e.arith("add", sum, x)
		}
		align = gcd(align, int(abs(t.coef))*size)
	}
	if len(p.terms) > 0 {
		ptr = e.temp("getelementptr %s, ptr %s, i64 %s", typ, ptr, sum.s)
	}
	if p.off != 0 {
		ptr = e.temp("getelementptr %s, ptr %s, i64 %d", typ, ptr, p.off)
		align = gcd(align, int(abs(p.off))*size)
	}
	return ptr, align
}

func abs(x int64) int64 { return max(x, -x) }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// memType is the LLVM type of n elements in memory: booleans are bytes.
func memType(t types.DType, n int) string {
	if t == types.Bool {
		t = types.U8
	}
	return typeOf(t, n)
}

func (e *emitter) load(x *expr.Load) value {
	b := x.From.(*loop.Buffer)
	buf := e.bufs[b]
	if buf == nil {
		fail("buffer %s is not in scope", b.Name)
	}
	l := e.flat(b, x.Index)
	if b.Scope == loop.Reg {
		return e.loadReg(b, buf, l)
	}
	p := e.place(l)
	switch {
	case !p.ok || p.coef != 0 && p.coef != 1:
		return e.perLane(func() value { return e.load(x) })
	case p.coef == 0:
		if e.mask != "" { // no lane may need it: the address may then be outside the buffer
			return e.guardedScalar(b, p)
		}
		ptr, align := e.address(b, p)
		raw := value{t: b.DType, s: e.temp("load %s, ptr %s, align %d", memType(b.DType, 0), ptr, align)}
		return e.widen(raw)
	}
	ptr, align := e.address(b, p)
	raw := value{t: b.DType, lanes: e.lanes}
	mt := memType(b.DType, e.lanes)
	if e.mask == "" {
		raw.s = e.temp("load %s, ptr %s, align %d", mt, ptr, align)
		return e.widen(raw)
	}
	name := fmt.Sprintf("llvm.masked.load.v%d%s.p0", e.lanes, memSuffix(b.DType))
	e.declare(fmt.Sprintf("%s @%s(ptr, <%d x i1>, %s)", mt, name, e.lanes, mt))
	raw.s = e.temp("call %s @%s(ptr align %d %s, <%d x i1> %s, %s zeroinitializer)", mt, name, align, ptr, e.lanes, e.mask, mt)
	return e.widen(raw)
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

// guardedScalar loads an element all lanes share, if any lane is active.
func (e *emitter) guardedScalar(b *loop.Buffer, p place) value {
	m := value{t: types.Bool, lanes: e.lanes, s: e.mask}
	name := fmt.Sprintf("llvm.vector.reduce.or.v%di1", e.lanes)
	e.declare(fmt.Sprintf("i1 @%s(%s)", name, m.typ()))
	any := value{t: types.Bool, s: e.temp("call i1 @%s(%s)", name, m)}
	return e.scalar(func() value {
		return e.branch(any, func() value {
			ptr, align := e.address(b, p)
			return e.widen(value{t: b.DType, s: e.temp("load %s, ptr %s, align %d", memType(b.DType, 0), ptr, align)})
		}, func() value { return zeroOf(b.DType.Compute()) })
	})
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

// perLane evaluates f once per lane, with the vector variable a number and only active lanes executed.
func (e *emitter) perLane(f func() value) value {
	var r value
	e.eachLane(func(i int, active value) {
		v := value{}
		if active.s == "" {
			v = f()
		} else {
			var t types.DType
			v = e.branch(active, func() value { x := f(); t = x.t; return x }, func() value { return zeroOf(t) })
		}
		if r.s == "" {
			r = value{t: v.t, lanes: e.lanesOf, s: "poison"}
		}
		r.s = e.temp("insertelement %s, %s, i64 %d", r, v, i)
	})
	return r
}

// eachLane calls f for every lane outside of vector mode; active is empty where there is no mask. Variables bound to
// vectors give their element of the lane where they are read.
func (e *emitter) eachLane(f func(i int, active value)) {
	vec, lanes, mask, base := e.vec, e.lanes, e.mask, e.vecBase
	whole, span := e.env[vec], e.ranges[vec]
	for i := range lanes {
		var active value
		if mask != "" {
			active = e.lane(value{t: types.Bool, lanes: lanes, s: mask}, i)
		}
		x := e.arith("add", base, constInt(int64(i), types.I64))
		e.env[vec] = x
		if x.known {
			e.ranges[vec] = arith.Point(x.i)
		}
		e.vec, e.lanes, e.mask, e.lanesOf, e.laneAt = nil, 0, "", lanes, i
		f(i, active)
	}
	e.vec, e.lanes, e.mask, e.vecBase = vec, lanes, mask, base
	e.env[vec], e.ranges[vec] = whole, span
}

func (e *emitter) store(s *loop.Store) {
	b := s.To
	buf := e.bufs[b]
	if buf == nil {
		fail("buffer %s is not in scope", b.Name)
	}
	l := e.flat(b, s.Index)
	if e.vec != nil {
		p := e.place(l)
		if p.ok && p.coef == 0 {
			e.horizontal(s)
			return
		}
		if (!p.ok || p.coef != 1) && b.Scope != loop.Reg {
			e.scatter(s)
			return
		}
	}
	v := e.stored(s)
	if b.Scope == loop.Reg {
		e.storeReg(b, buf, l, v)
		return
	}
	p := e.place(l)
	raw := e.narrow(b.DType, e.splat(v, e.lanes))
	ptr, align := e.address(b, p)
	mt := memType(b.DType, raw.lanes)
	if e.mask == "" {
		e.line("store %s %s, ptr %s, align %d", mt, raw.s, ptr, align)
		return
	}
	name := fmt.Sprintf("llvm.masked.store.v%d%s.p0", e.lanes, memSuffix(b.DType))
	e.declare(fmt.Sprintf("void @%s(%s, ptr, <%d x i1>)", name, mt, e.lanes))
	e.line("call void @%s(%s %s, ptr align %d %s, <%d x i1> %s)", name, mt, raw.s, align, ptr, e.lanes, e.mask)
}

// stored evaluates what s stores. A reduction of a product becomes a fused multiply-add where the target has one.
func (e *emitter) stored(s *loop.Store) value {
	if u, ok := s.Value.(*expr.Binary); ok && u.Op == expr.OpAdd && u.DType().IsFloat() {
		acc, isLoad := u.A.(*expr.Load)
		mul, isMul := u.B.(*expr.Binary)
		if isLoad && isMul && acc.From == expr.Source(s.To) && mul.Op == expr.OpMul {
			a, b := e.expr(intrin.Expand(mul.A)), e.expr(intrin.Expand(mul.B))
			c := e.load(acc)
			n := max(a.lanes, b.lanes, c.lanes)
			return e.call("fmuladd", e.splat(a, n), e.splat(b, n), e.splat(c, n))
		}
	}
	return e.expr(intrin.Expand(s.Value))
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

// horizontal emits a reduction over the lanes into one element: X = X op v.
func (e *emitter) horizontal(s *loop.Store) {
	u, ok := s.Value.(*expr.Binary)
	if !ok {
		fail("store to one element of %s from all lanes is no reduction", s.To.Name)
	}
	v := e.splat(e.expr(intrin.Expand(u.B)), e.lanes)
	if e.mask != "" {
		v = e.choose(value{t: types.Bool, lanes: e.lanes, s: e.mask}, v, e.splat(e.identity(u.Op, v.t), e.lanes))
	}
	one := e.reduceLanes(u.Op, v)
	x := expr.NewVar("lanes")
	x.Type = v.t
	e.env[x] = one
	e.scalar(func() value {
		e.store(&loop.Store{To: s.To, Index: s.Index, Value: &expr.Binary{Op: u.Op, A: u.A, B: x}})
		return value{}
	})
}

func (e *emitter) identity(op expr.Op, t types.DType) value {
	lo, hi := int64(0), int64(0)
	if !t.IsFloat() {
		lo, hi = t.IntRange()
	}
	switch {
	case op == expr.OpAdd || op == expr.OpOr:
		return zeroOf(t)
	case op == expr.OpMul && t.IsFloat():
		return constFloat(1, t)
	case op == expr.OpMul || op == expr.OpAnd:
		return constInt(1, t)
	case op == expr.OpMax && t.IsFloat():
		return constFloat(-posInf, t)
	case op == expr.OpMin && t.IsFloat():
		return constFloat(posInf, t)
	case op == expr.OpMax:
		return constInt(lo, t)
	case op == expr.OpMin:
		return constInt(hi, t)
	}
	fail("no reduction by %s", op)
	return value{}
}

// reduceLanes folds halves until one element is left: the same tree for every width, and NaN as in scalar code.
func (e *emitter) reduceLanes(op expr.Op, v value) value {
	for v.lanes > 1 && v.lanes%2 == 0 {
		h := v.lanes / 2
		idx := func(from int) string {
			s := ""
			for i := range h {
				if i > 0 {
					s += ", "
				}
				s += fmt.Sprintf("i32 %d", from+i)
			}
			return s
		}
		half := func(from int) value {
			return value{t: v.t, lanes: h, s: e.temp("shufflevector %s, %s poison, <%d x i32> <%s>", v, v.typ(), h, idx(from))}
		}
		a, b := half(0), half(h)
		v = e.fold(op, a, b)
	}
	r := e.lane(v, 0)
	for i := 1; i < v.lanes; i++ {
		r = e.fold(op, r, e.lane(v, i))
	}
	return r
}

func (e *emitter) fold(op expr.Op, a, b value) value {
	x, y := &expr.Var{Name: "a", Type: a.t}, &expr.Var{Name: "b", Type: a.t}
	if a.t == types.Bool {
		return e.arith(map[expr.Op]string{expr.OpAnd: "and", expr.OpOr: "or"}[op], a, b)
	}
	return e.binary(&expr.Binary{Op: op, A: x, B: y}, a, b)
}

// scatter stores lane by lane.
func (e *emitter) scatter(s *loop.Store) {
	v := e.splat(e.expr(intrin.Expand(s.Value)), e.lanes)
	x := &expr.Var{Name: "lane", Type: v.t}
	e.env[x] = v
	e.eachLane(func(_ int, active value) {
		one := &loop.Store{To: s.To, Index: s.Index, Value: x}
		if active.s == "" {
			e.store(one)
			return
		}
		e.guardedStmt(active, func() { e.store(one) })
	})
}

func (e *emitter) guardedStmt(c value, f func()) {
	then, end := e.newLabel("then"), e.newLabel("end")
	e.line("br i1 %s, label %%%s, label %%%s", c.s, then, end)
	e.label(then)
	f()
	e.line("br label %%%s", end)
	e.label(end)
}

func (e *emitter) ifStmt(s *loop.If) {
	c := e.expr(intrin.Expand(s.Cond))
	switch {
	case c.known:
		if c.i != 0 {
			e.stmt(s.Then)
		} else if s.Else != nil {
			e.stmt(s.Else)
		}
	case c.lanes > 0:
		old := e.mask
		e.narrowMask(c)
		e.stmt(s.Then)
		e.mask = old
		if s.Else != nil {
			e.narrowMask(e.not(c))
			e.stmt(s.Else)
			e.mask = old
		}
	default:
		e.guardedStmt(c, func() { e.stmt(s.Then) })
		if s.Else != nil {
			e.guardedStmt(e.not(c), func() { e.stmt(s.Else) })
		}
	}
}
