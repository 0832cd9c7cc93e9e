package llvm

import (
	"slices"

	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/loop"
	"lathe/internal/types"
)

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

// strides are those of a buffer, whose rows begin with a slot of their own where it lies in registers.
func (e *emitter) strides(b *loop.Buffer) []int {
	lanes, row := e.bufs[b].lanes, rowOf(b)
	if b.Scope != loop.Reg || lanes < 2 || row < 1 {
		return b.Strides()
	}
	shape := slices.Clone(b.Shape)
	if shape[row] > lanes {
		shape[row] = (shape[row] + lanes - 1) / lanes * lanes
	}
	return types.RowMajor(shape)
}

// rowOf is the dimension along which elements follow each other: the last with several.
func rowOf(b *loop.Buffer) int {
	row := len(b.Shape) - 1
	for row > 0 && b.Shape[row] == 1 {
		row--
	}
	return row
}

// flat is the index of an access in elements from the buffer's base.
func (e *emitter) flat(b *loop.Buffer, index []expr.Expr) arith.Linear {
	known := map[*expr.Var]expr.Expr(nil)
	for _, x := range index {
		expr.Walk(x, func(x expr.Expr) bool {
			if v, ok := x.(*expr.Var); ok {
				if c := e.env[v]; c.known && e.ranges[v] != arith.Point(c.i) { // those of one value are simplified away
					if known == nil {
						known = map[*expr.Var]expr.Expr{}
					}
					known[v] = &expr.Int{V: c.i, Type: types.I64}
				}
			}
			return true
		})
	}
	if known != nil {
		list := make([]expr.Expr, len(index))
		for i, x := range index {
			list[i] = expr.Subst(x, known)
		}
		index = list
	}
	return e.ranges.WeightedSum(index, e.strides(b))
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

// address emits the pointer to the place's lane 0 and returns its alignment in bytes.
func (e *emitter) address(b *loop.Buffer, p place) (string, int) {
	if b.DType.IsNibble() {
		fail("%s: elements of 4 bits have no address", b.Name)
	}
	return e.addressAs(b.DType, b, p)
}

// addressAs is the address of a place counted in elements of type t, whatever the buffer's are.
func (e *emitter) addressAs(t types.DType, b *loop.Buffer, p place) (string, int) {
	size := t.Size()
	align := max(b.Align, size)
	if b.Scope == loop.Worker {
		align = scratchAlign
	}
	ptr := e.bufs[b].ptr
	typ := llvmTypes[t]
	if t == types.Bool {
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
		align = arith.GCD(align, int(abs(t.coef))*size)
	}
	if len(p.terms) > 0 {
		ptr = e.temp("getelementptr %s, ptr %s, i64 %s", typ, ptr, sum.s)
	}
	if p.off != 0 {
		ptr = e.temp("getelementptr %s, ptr %s, i64 %d", typ, ptr, p.off)
		align = arith.GCD(align, int(abs(p.off))*size)
	}
	return ptr, align
}

func abs(x int64) int64 { return max(x, -x) }
