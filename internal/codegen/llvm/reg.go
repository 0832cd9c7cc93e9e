package llvm

import (
	"fmt"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// element is the constant part of an access to a register buffer; vector tells whether it runs along the lanes.
func (e *emitter) element(b *loop.Buffer, l arith.Linear) (at int, vector bool) {
	p := int(l.Const)
	for _, t := range l.Terms {
		if e.vec == nil || t.Atom != expr.Expr(e.vec) || t.Coef != 1 {
			fail("register buffer %s: index %s is not constant", b.Name, expr.String(l.Expr()))
		}
		vector = true
		if !e.vecBase.known {
			fail("register buffer %s: vector loop starts at a variable", b.Name)
		}
		p += int(e.vecBase.i)
	}
	return p, vector
}

// slot returns the stack slot of the element at, whose type is n lanes of b's type, making it on first use.
func (e *emitter) slot(b *loop.Buffer, buf *buffer, at, n int) string {
	if s, ok := buf.slots[at]; ok {
		return s
	}
	e.n++
	s := fmt.Sprintf("%%s%d", e.n)
	fmt.Fprintf(&e.slots, "  %s = alloca %s\n", s, memType(b.DType, n))
	buf.slots[at] = s
	return s
}

func (e *emitter) loadReg(b *loop.Buffer, buf *buffer, l arith.Linear) value {
	at, vector := e.element(b, l)
	if vector || buf.lanes == 0 {
		n := 0
		if vector {
			n = e.lanes
		}
		raw := value{t: b.DType, lanes: n}
		raw.s = e.temp("load %s, ptr %s", memType(b.DType, n), e.slot(b, buf, at, n))
		return e.widen(raw)
	}
	lane := at % buf.lanes
	raw := value{t: b.DType, lanes: buf.lanes}
	raw.s = e.temp("load %s, ptr %s", memType(b.DType, buf.lanes), e.slot(b, buf, at-lane, buf.lanes))
	return e.lane(e.widen(raw), lane)
}

func (e *emitter) storeReg(b *loop.Buffer, buf *buffer, l arith.Linear, v value) {
	at, vector := e.element(b, l)
	switch {
	case vector:
		v = e.splat(v, e.lanes)
		if e.mask != "" {
			old := value{t: b.DType, lanes: e.lanes}
			old.s = e.temp("load %s, ptr %s", memType(b.DType, e.lanes), e.slot(b, buf, at, e.lanes))
			v = e.choose(value{t: types.Bool, lanes: e.lanes, s: e.mask}, v, e.widen(old))
		}
		raw := e.narrow(b.DType, v)
		e.line("store %s %s, ptr %s", memType(b.DType, e.lanes), raw.s, e.slot(b, buf, at, e.lanes))
	case buf.lanes == 0:
		raw := e.narrow(b.DType, v)
		e.line("store %s %s, ptr %s", memType(b.DType, 0), raw.s, e.slot(b, buf, at, 0))
	default:
		lane := at % buf.lanes
		s := e.slot(b, buf, at-lane, buf.lanes)
		mt := memType(b.DType, buf.lanes)
		raw := e.narrow(b.DType, v)
		old := e.temp("load %s, ptr %s", mt, s)
		upd := e.temp("insertelement %s %s, %s %s, i64 %d", mt, old, memType(b.DType, 0), raw.s, lane)
		e.line("store %s %s, ptr %s", mt, upd, s)
	}
}
