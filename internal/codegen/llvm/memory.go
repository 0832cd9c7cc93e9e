package llvm

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

var posInf = math.Inf(1)

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
	e.again(b, l)
	p := e.place(l)
	switch {
	case b.DType.IsNibble() && p.inDigits():
		return e.nibbles(b, p)
	case b.DType.IsNibble():
		return e.perLane(func() value { return e.load(x) })
	case p.ok && p.coef != 0 && p.coef != 1:
		if v, ok := e.strided(b, p, l); ok {
			return v
		}
		return e.perLane(func() value { return e.load(x) })
	case !p.ok:
		if v, ok := e.patterned(b, l); ok {
			return v
		}
		if v, ok := e.tabulated(b, x); ok {
			return v
		}
		x = e.lookedUp(x)
		return e.perLane(func() value { return e.load(x) })
	case p.coef == 0:
		if e.mask != "" && (e.choosing || !slices.Contains(e.active, true)) { // no lane may need it: the address may then be outside the buffer
			return e.guardedScalar(b, p)
		}
		ptr, align := e.address(b, p)
		raw := value{t: b.DType, s: e.temp("load %s, ptr %s, align %d", memType(b.DType, 0), ptr, align)}
		return e.widen(raw)
	}
	ptr, align := e.address(b, p)
	raw := value{t: b.DType, lanes: e.lanes}
	mt := memType(b.DType, e.lanes)
	if e.mask == "" || e.idle && e.inside(b, l) {
		raw.s = e.temp("load %s, ptr %s, align %d", mt, ptr, align)
		return e.widen(raw)
	}
	raw.s = e.maskedLoad(mt, fmt.Sprintf("v%d%s", e.lanes, memSuffix(b.DType)), ptr, align)
	return e.widen(raw)
}

// lookedUp is x, whose place differs from lane to lane, with variables for places that memory gives and that are computed for all lanes at once:
// one by one, numbers that decide about places would be branched on.
func (e *emitter) lookedUp(x *expr.Load) *expr.Load {
	if e.vec == nil || e.mask != "" || !slices.ContainsFunc(x.Index, hasLoad) {
		return x
	}
	at := slices.Clone(x.Index)
	for i, index := range at {
		if !hasLoad(index) {
			continue
		}
		if v := e.expr(index); v.lanes > 0 {
			place := expr.NewVar("place")
			e.env[place], e.ranges[place] = v, e.ranges.Of(index)
			at[i] = place
		}
	}
	return &expr.Load{From: x.From, Index: at}
}

// passing reports whether sums in registers are of fewer rows than vectors of so many lanes: the elements of rows that all lanes share stay
// in registers then while vectors pass. Where lanes of a sum are chosen, a load of its own gives the register for what they are chosen from.
func passing(b *loop.Buffer, lanes int) bool {
	line := max(1, b.Shape[len(b.Shape)-1])
	return (line+lanes-1)/lanes > types.Count(b.Shape)/line
}

// inside reports whether all elements at an index, of lanes that have no part as well, are those of the buffer.
func (e *emitter) inside(b *loop.Buffer, at arith.Linear) bool {
	r := at.Range(e.ranges)
	return r.Lo >= 0 && r.Hi < int64(types.Count(b.Shape))
}

// maskedLoad loads a vector of the given LLVM type where the mask holds, and zeros elsewhere.
func (e *emitter) maskedLoad(typ, suffix, ptr string, align int) string {
	name := fmt.Sprintf("llvm.masked.load.%s.p0", suffix)
	e.declare(fmt.Sprintf("%s @%s(ptr, <%d x i1>, %s)", typ, name, e.lanes, typ))
	return e.temp("call %s @%s(ptr align %d %s, <%d x i1> %s, %s zeroinitializer)", typ, name, align, ptr, e.lanes, e.mask, typ)
}

// guardedScalar loads an element all lanes share, if any lane is active.
func (e *emitter) guardedScalar(b *loop.Buffer, p place) value {
	return e.ifAny(func() value {
		ptr, align := e.address(b, p)
		return e.widen(value{t: b.DType, s: e.temp("load %s, ptr %s, align %d", memType(b.DType, 0), ptr, align)})
	})
}

// ifAny evaluates what all lanes share if any lane is active, and is 0 otherwise.
func (e *emitter) ifAny(f func() value) value {
	any := e.overLanes("or", value{t: types.Bool, lanes: e.lanes, s: e.mask})
	return e.scalar(func() value {
		var t types.DType
		return e.branch(any, func() value { v := f(); t = v.t; return v }, func() value { return zeroOf(t) })
	})
}

func (e *emitter) store(s *loop.Store) {
	e.tiles.forget()
	b := s.To
	buf := e.bufs[b]
	if buf == nil {
		fail("buffer %s is not in scope", b.Name)
	}
	if b.Scope != loop.Reg {
		e.loaded.forget()
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
	if b.Scope == loop.Reg && e.vec != nil && e.mask != "" {
		at, vector := e.element(b, l)
		e.choosing = vector && !e.first(e.inRow(b, at)) && passing(b, e.lanes)
	}
	v := e.stored(s)
	e.choosing = false
	if b.Scope == loop.Reg {
		e.storeReg(b, buf, l, v)
		return
	}
	p := e.place(l)
	raw := e.narrow(b.DType, e.splat(v, e.lanes))
	if b.Scope == loop.Worker && e.mask == "" {
		raw = e.wholeVector(b, l, raw)
	}
	ptr, align := e.address(b, p)
	mt := memType(b.DType, raw.lanes)
	if e.mask == "" {
		e.effect("store %s %s, ptr %s, align %d", mt, raw.s, ptr, align)
		return
	}
	if e.storePieces(b, raw, ptr, align) {
		return
	}
	name := fmt.Sprintf("llvm.masked.store.v%d%s.p0", e.lanes, memSuffix(b.DType))
	e.declare(fmt.Sprintf("void @%s(%s, ptr, <%d x i1>)", name, mt, e.lanes))
	e.effect("call void @%s(%s %s, ptr align %d %s, <%d x i1> %s)", name, mt, raw.s, align, ptr, e.lanes, e.mask)
}

// wholeVector adds lanes to a vector that is stored at the end of scratch, where there is space, up to a power of two: one
// store writes it, from which a load may take it before it is in the cache.
func (e *emitter) wholeVector(b *loop.Buffer, at arith.Linear, v value) value {
	whole := 1 << bits.Len(uint(max(v.lanes, 1)-1))
	end := at.Range(e.ranges).Lo + int64(v.lanes)
	if whole <= v.lanes || v.lanes == 0 || end < int64(types.Count(b.Shape)) || (whole-v.lanes)*b.DType.Size() > scratchSlack {
		return v
	}
	return e.shuffle(v, whole, func(i int) int { return i })
}

// prefetch asks for lines to be read into the L2 cache, or near, into L1.
func (e *emitter) prefetch(s *loop.Prefetch) {
	e.declare("void @llvm.prefetch.p0(ptr, i32, i32, i32)")
	const toL2, toL1, data = 2, 3, 1
	write, to := 0, toL2
	if s.Write {
		write = 1
	}
	if s.Near {
		to = toL1
	}
	p, t := e.place(arith.LinearOf(e.ranges.Simplify(s.At))), s.From.DType
	if t.IsNibble() {
		p, _ = e.split(p, 2)
		t = types.U8
	}
	ptr, _ := e.addressAs(t, s.From, p)
	for i := range s.Lines {
		line := e.temp("getelementptr i8, ptr %s, i64 %d", ptr, i*loop.LineBytes)
		e.effect("call void @llvm.prefetch.p0(ptr %s, i32 %d, i32 %d, i32 %d)", line, write, to, data)
	}
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
	c := e.expr(s.Cond)
	switch {
	case c.known:
		if c.i != 0 {
			e.stmt(s.Then)
		} else if s.Else != nil {
			e.stmt(s.Else)
		}
	case c.lanes > 0:
		e.masked(c, e.lanesWhere(s.Cond, true), s.Then)
		if s.Else != nil {
			e.masked(e.not(c), e.lanesWhere(s.Cond, false), s.Else)
		}
	default:
		e.guardedStmt(c, func() { e.stmt(s.Then) })
		if s.Else != nil {
			e.guardedStmt(e.not(c), func() { e.stmt(s.Else) })
		}
	}
}

// masked emits s for the lanes of c, which are those that active names where it is known: nothing where it names none.
func (e *emitter) masked(c value, active []bool, s loop.Stmt) {
	if active != nil && !slices.Contains(active, true) {
		return
	}
	e.underMask(c, active, func() { e.stmt(s) })
}

// lanesWhere tells for every lane whether a condition holds, or does not; nil where that is not known.
func (e *emitter) lanesWhere(cond expr.Expr, holds bool) []bool {
	if !e.vecBase.known {
		return nil
	}
	bind := map[*expr.Var]expr.Expr{}
	for v, x := range e.env {
		if x.known && x.lanes == 0 {
			bind[v] = &expr.Int{V: x.i, Type: v.Type}
		}
	}
	active := make([]bool, e.lanes)
	for lane := range active {
		bind[e.vec] = &expr.Int{V: e.vecBase.i + int64(lane), Type: e.vec.Type}
		c, ok := e.ranges.Simplify(expr.Subst(cond, bind)).(*expr.Int)
		if !ok {
			return nil
		}
		active[lane] = (c.V != 0) == holds
	}
	return active
}

// first reports whether the current code runs under the first n lanes, and no others.
func (e *emitter) first(n int) bool {
	for i, a := range e.active {
		if a != (i < n) {
			return false
		}
	}
	return e.active != nil
}

// stored evaluates what s stores. A step of a reduction may contract.
func (e *emitter) stored(s *loop.Store) value {
	u, ok := s.Value.(*expr.Binary)
	if !ok || u.Op != expr.OpAdd {
		return e.expr(s.Value)
	}
	acc, ok := u.A.(*expr.Load)
	if d, isDot := u.B.(*expr.Dot); isDot && ok {
		return e.dot(d, e.load(acc))
	}
	m, isProduct := u.B.(*expr.Binary)
	if !ok || acc.From != expr.Source(s.To) || !isProduct || m.Op != expr.OpMul || !m.DType().IsFloat() {
		return e.expr(s.Value)
	}
	// Sums in registers stay as they are in lanes that have no part, whatever there is to add: operands are loaded as they lie, such as the
	// elements that fill panels.
	e.idle = s.To.Scope == loop.Reg
	a, b := e.expr(m.A), e.expr(m.B)
	e.idle = false
	c := e.load(acc)
	n := max(a.lanes, b.lanes, c.lanes)
	return e.multiplyAdd(e.splat(a, n), e.splat(b, n), e.splat(c, n))
}
