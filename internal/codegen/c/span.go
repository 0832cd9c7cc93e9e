package c

import (
	"lathe/internal/arith"
	"lathe/internal/expr"
	"lathe/internal/types"
)

// span bounds the values of an integer or Bool expression of any type, as loop IR defines it: where a result could wrap,
// it may be any of its type.
func (e *emitter) span(x expr.Expr) arith.Interval {
	t := x.DType()
	if t.IsFloat() {
		return arith.Everything
	}
	whole := wholeRange(t)
	switch x := x.(type) {
	case *expr.Int:
		return arith.Point(x.V)
	case *expr.Var:
		if i, ok := e.ranges[x]; ok {
			return i
		}
	case *expr.Binary:
		if x.Op.Compares() || t == types.Bool {
			return whole
		}
		if i := e.spanOf(x); i.Lo >= whole.Lo && i.Hi <= whole.Hi {
			return i
		}
	case *expr.Select:
		return e.span(x.A).Union(e.span(x.B))
	case *expr.Cast:
		if f := x.A.DType(); !f.IsFloat() {
			if i := e.span(x.A); i.Lo >= whole.Lo && i.Hi <= whole.Hi {
				return i
			}
		}
	case *expr.Dot:
		if x.Width() < expr.DotWidth {
			const most = expr.DotWidth / 2 * 255 << 15
			return arith.Interval{Lo: -most, Hi: most}
		}
		return arith.Interval{Lo: -expr.DotWidth * 255 * 128, Hi: expr.DotWidth * 255 * 255}
	}
	return whole
}

// spanOf is the interval of exact results; operands that have no bounds give none.
func (e *emitter) spanOf(x *expr.Binary) arith.Interval {
	a, b := e.span(x.A), e.span(x.B)
	switch x.Op {
	case expr.OpAdd:
		return a.Add(b)
	case expr.OpSub:
		return a.Add(b.Scale(-1))
	case expr.OpMul:
		return a.Scale(b.Lo).Union(a.Scale(b.Hi))
	case expr.OpMin:
		return arith.Interval{Lo: min(a.Lo, b.Lo), Hi: min(a.Hi, b.Hi)}
	case expr.OpMax:
		return arith.Interval{Lo: max(a.Lo, b.Lo), Hi: max(a.Hi, b.Hi)}
	}
	if d := b.Lo; b.Single() && d > 0 && bounded(a) {
		switch x.Op {
		case expr.OpFloorDiv:
			return arith.Interval{Lo: arith.FloorDiv(a.Lo, d), Hi: arith.FloorDiv(a.Hi, d)}
		case expr.OpDiv:
			return arith.Interval{Lo: a.Lo / d, Hi: a.Hi / d}
		case expr.OpFloorMod:
			if a.Lo >= 0 && a.Hi < d {
				return a
			}
			return arith.Interval{Lo: 0, Hi: d - 1}
		case expr.OpMod:
			if a.Lo >= 0 {
				return arith.Interval{Lo: 0, Hi: min(a.Hi, d-1)}
			}
		}
	}
	return arith.Everything
}

// wholeRange is the range of an integer type; that of 64 bits counts as without bounds.
func wholeRange(t types.DType) arith.Interval {
	if t.Bits() > 32 {
		return arith.Everything
	}
	lo, hi := t.IntRange()
	return arith.Interval{Lo: lo, Hi: hi}
}

func bounded(i arith.Interval) bool { return i.Lo > -arith.Inf && i.Hi < arith.Inf }

// exact reports whether the result of an integer sum, difference or product needs no wrapping in its type.
func (e *emitter) exact(x *expr.Binary) bool {
	i, whole := e.spanOf(x), wholeRange(x.DType())
	return bounded(i) && i.Lo >= whole.Lo && i.Hi <= whole.Hi
}
