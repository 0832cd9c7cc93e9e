package llvm

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

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

// inRow is the number of elements from one on to the end of its row, behind which lanes of its slot hold nothing.
func (e *emitter) inRow(b *loop.Buffer, at int) int {
	row := rowOf(b)
	if row == 0 {
		return b.Shape[0] - at
	}
	return b.Shape[row] - at%e.strides(b)[row-1]
}

// slot returns the stack slot that starts at an element, making it on first use. All slots of a buffer have one type:
// the widest vector that any access uses, or a scalar.
func (e *emitter) slot(b *loop.Buffer, buf *buffer, at int) string {
	if s, ok := buf.slots[at]; ok {
		return s
	}
	e.n++
	s := fmt.Sprintf("%%s%d", e.n)
	fmt.Fprintf(&e.slots, "  %s = alloca %s\n", s, memType(b.DType, buf.lanes))
	buf.slots[at] = s
	return s
}

// beginSlots says that the slots of a buffer hold nothing where its scope begins. Where a loop around the scope runs again, values of the run
// before would stay in registers for it, and accumulators of other tiles be kept on the stack.
func (e *emitter) beginSlots(buf *buffer) {
	for _, at := range slices.Sorted(maps.Keys(buf.slots)) {
		e.line("store %s poison, ptr %s", memType(buf.dtype, buf.lanes), buf.slots[at])
	}
}

func (e *emitter) readSlot(b *loop.Buffer, buf *buffer, at int) value {
	raw, slot := value{t: b.DType, lanes: buf.lanes}, e.slot(b, buf, at)
	if e.numbers.slots[slot] == "" {
		e.numbers.slots[slot] = e.temp("load %s, ptr %s", memType(b.DType, buf.lanes), slot)
	}
	raw.s = e.numbers.slots[slot]
	return e.widen(raw)
}

func (e *emitter) writeSlot(b *loop.Buffer, buf *buffer, at int, v value) {
	raw, slot := e.narrow(b.DType, v), e.slot(b, buf, at)
	e.line("store %s %s, ptr %s", memType(b.DType, buf.lanes), raw.s, slot)
	e.numbers.slots[slot] = raw.s
}

// whole reports whether an access covers exactly one slot.
func (buf *buffer) whole(at, n int) bool { return buf.lanes == n && (n == 0 || at%n == 0) }

func (e *emitter) loadReg(b *loop.Buffer, buf *buffer, l arith.Linear) value {
	at, vector := e.element(b, l)
	n := 0
	if vector {
		n = e.lanes
	}
	if buf.whole(at, n) {
		return e.readSlot(b, buf, at)
	}
	if from := at % max(1, buf.lanes); n > 0 && from+n <= buf.lanes {
		return e.shuffle(e.readSlot(b, buf, at-from), n, func(i int) int { return from + i })
	}
	one := func(i int) value { return e.lane(e.readSlot(b, buf, i-i%buf.lanes), i%buf.lanes) }
	if n == 0 {
		return one(at)
	}
	r := value{t: b.DType.Compute(), lanes: n, s: "poison"}
	for i := range n {
		r.s = e.temp("insertelement %s, %s, i64 %d", r, one(at+i), i)
	}
	return r
}

func (e *emitter) storeReg(b *loop.Buffer, buf *buffer, l arith.Linear, v value) {
	at, vector := e.element(b, l)
	n := 0
	if vector {
		n = e.lanes
		v = e.splat(v, n)
		if e.mask != "" && !e.first(e.inRow(b, at)) {
			v = e.choose(e.merging(e.slot(b, buf, at-at%max(1, buf.lanes))), v, e.loadReg(b, buf, l))
		}
	}
	if buf.whole(at, n) {
		e.writeSlot(b, buf, at, v)
		return
	}
	if from := at % max(1, buf.lanes); n > 0 && from+n <= buf.lanes {
		wide := e.shuffle(e.splat(v, n), buf.lanes, func(i int) int { return i - from })
		old := e.readSlot(b, buf, at-from)
		old.s = e.temp("shufflevector %s, %s, <%d x i32> <%s>", old, wide, buf.lanes, indices(buf.lanes, func(i int) int {
			if from <= i && i < from+n {
				return buf.lanes + i
			}
			return i
		}))
		e.writeSlot(b, buf, at-from, old)
		return
	}
	for i := range max(n, 1) {
		x := at + i
		old := e.readSlot(b, buf, x-x%buf.lanes)
		old.s = e.temp("insertelement %s, %s, i64 %d", old, e.lane(v, i), x%buf.lanes)
		e.writeSlot(b, buf, x-x%buf.lanes, old)
	}
}

// A hidden mask is one of two of the same lanes, which LLVM does not know and takes for different.
type hidden struct {
	lanes string
	turn  int
}

// merging is the mask under which a slot is written. Where instructions keep lanes of what they add to, LLVM must not know which lanes a mask
// holds: a choice by constants becomes a shuffle, which is an instruction more. The mask then comes from assembly without instructions. Two such
// masks take turns, since of two steps of a sum under one LLVM makes one choice, for which it keeps the sum before both in another register.
func (e *emitter) merging(slot string) value {
	m := value{t: types.Bool, lanes: e.lanes, s: e.mask}
	register := e.target.Masks()
	if e.active == nil || register == nil {
		return m
	}
	whole := value{t: types.Bool, lanes: max(register.Lanes, 1<<bits.Len(uint(e.lanes-1)))}
	list := slices.Repeat([]string{"i1 false"}, whole.lanes)
	for i, active := range e.active {
		list[i] = fmt.Sprintf("i1 %t", active)
	}
	e.merged[slot]++
	of := hidden{strings.Join(list, ", "), e.merged[slot] % 2}
	name, ok := e.masks[of]
	if !ok {
		name = fmt.Sprintf("%%m%d", len(e.masks))
		e.masks[of] = name
		fmt.Fprintf(&e.slots, "  %s = call %s asm sideeffect \"\", \"=%s,0\"(%s <%s>)\n", name, whole.typ(), register.Constraint, whole.typ(), of.lanes)
	}
	if whole.s = name; whole.lanes == m.lanes {
		return whole
	}
	return e.shuffle(whole, m.lanes, func(i int) int { return i })
}

// shuffle is a vector of n lanes, each the lane of v that f gives, or any where v has none.
func (e *emitter) shuffle(v value, n int, f func(i int) int) value {
	return value{t: v.t, lanes: n, s: e.temp("shufflevector %s, %s poison, <%d x i32> <%s>", v, v.typ(), n, indices(n, func(i int) int {
		if j := f(i); 0 <= j && j < v.lanes {
			return j
		}
		return -1
	}))}
}

// indices are the lanes that a shuffle takes, -1 for any.
func indices(n int, f func(i int) int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = "i32 poison"
		if j := f(i); j >= 0 {
			list[i] = fmt.Sprintf("i32 %d", j)
		}
	}
	return strings.Join(list, ", ")
}
