package llvm

import (
	"strconv"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

// loaded are the loads of straight code by which LLVM may keep what it has loaded before. A step of a reduction that is emitted once per
// iteration, such as the taps of a border, reads most of what the step before has read; kept beside the accumulators of a tile, that is
// more than there are registers, and the rest moves to the stack and back where it could be loaded again.
type loaded struct {
	at   map[loadPlace]int // the registers that were loaded before, at the last load from each place
	n    int               // registers that were loaded
	kept []*buffer         // register buffers in scope
	wide bool              // what is loaded now is widened
}

// A loadPlace is a place in memory that a load in a vector loop reads.
type loadPlace struct {
	from  *loop.Buffer
	place string
	off   int64
	lanes int
}

// forget is for where LLVM keeps nothing that was loaded: behind stores to memory, and in blocks that several lead to.
func (r *loaded) forget() {
	clear(r.at)
	r.n = 0
}

// again separates a load from those before it where LLVM would keep what an earlier one loaded for it, though what was loaded between,
// the accumulators and that do not fit the registers. A fence of one thread is no instruction; loads are not joined across it. What is
// widened behind the load stays: to load it from the stack takes less time than to widen it again.
func (e *emitter) again(b *loop.Buffer, l arith.Linear) {
	if e.vec == nil || e.target == nil || e.target.VectorBits == 0 || e.loaded.wide || b.DType.Bits() < b.DType.Compute().Bits() || b.DType.IsNibble() {
		return
	}
	k := loadPlace{from: b, off: l.Const}
	var place []byte
	for _, t := range l.Terms {
		switch v, ok := t.Atom.(*expr.Var); {
		case ok && v == e.vec:
			k.lanes = e.lanes
			if e.vecBase.known {
				k.off += t.Coef * e.vecBase.i
				place = strconv.AppendInt(append(place, '*'), t.Coef, 10)
				continue
			}
			place = append(place, e.vecBase.s...)
		case ok:
			place = append(place, e.env[v].s...)
		default:
			place = append(place, expr.String(t.Atom)...)
		}
		place = strconv.AppendInt(append(place, '*'), t.Coef, 10)
	}
	k.place = string(place)
	if at, before := e.loaded.at[k]; before && e.loaded.n-at+e.keptRegisters() >= e.target.VectorRegs {
		e.line(`fence syncscope("singlethread") seq_cst`)
		e.numbers.stored()
		e.loaded.forget()
	}
	if e.loaded.at == nil {
		e.loaded.at = map[loadPlace]int{}
	}
	if _, before := e.loaded.at[k]; !before {
		e.loaded.n += e.registers(b.DType, k.lanes)
	}
	e.loaded.at[k] = e.loaded.n
}

// keptRegisters is the number of registers that the register buffers in scope take.
func (e *emitter) keptRegisters() (n int) {
	for _, b := range e.loaded.kept {
		n += len(b.slots) * e.registers(b.dtype, b.lanes)
	}
	return n
}

// registers is the number of vector registers that so many lanes take.
func (e *emitter) registers(t types.DType, lanes int) int {
	return max(1, (lanes*t.Size()*8+e.target.VectorBits-1)/e.target.VectorBits)
}

// widening loads what is widened next.
func (e *emitter) widening(l *expr.Load) value {
	was := e.loaded.wide
	e.loaded.wide = true
	v := e.load(l)
	e.loaded.wide = was
	return v
}
