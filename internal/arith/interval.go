// Package arith reasons about I64 index expressions: ranges, linear forms, simplification and proofs.
package arith

import (
	"math"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// An Interval is the closed range Lo..Hi. Inf stands for no bound on that side.
type Interval struct{ Lo, Hi int64 }

// Inf is the magnitude from which on a bound means "none". Sums of a few bounds below it do not overflow.
const Inf = math.MaxInt64 / 8

// Everything is the interval without bounds.
var Everything = Interval{-Inf, Inf}

// Point is the interval of one value.
func Point(v int64) Interval { return Interval{v, v} }

// Span is [0, n).
func Span(n int) Interval { return Interval{0, int64(n) - 1} }

// Single reports whether i has one value.
func (i Interval) Single() bool { return i.Lo == i.Hi }

func clamp(v int64) int64 { return max(-Inf, min(Inf, v)) }

func mulBound(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	if p := a * b; p/b == a && p > -Inf && p < Inf && a > -Inf && a < Inf && b > -Inf && b < Inf {
		return p
	}
	if (a < 0) == (b < 0) {
		return Inf
	}
	return -Inf
}

// Add is the interval of sums.
func (i Interval) Add(j Interval) Interval { return Interval{clamp(i.Lo + j.Lo), clamp(i.Hi + j.Hi)} }

// Scale is the interval of c times i.
func (i Interval) Scale(c int64) Interval {
	a, b := mulBound(i.Lo, c), mulBound(i.Hi, c)
	return Interval{min(a, b), max(a, b)}
}

// Union is the smallest interval that holds both.
func (i Interval) Union(j Interval) Interval { return Interval{min(i.Lo, j.Lo), max(i.Hi, j.Hi)} }

// Ranges gives the possible values of variables; variables without an entry may have any.
type Ranges map[*expr.Var]Interval

// With returns r with one more entry, leaving r as it is.
func (r Ranges) With(v *expr.Var, i Interval) Ranges {
	n := make(Ranges, len(r)+1)
	for k, x := range r {
		n[k] = x
	}
	n[v] = i
	return n
}

// OfLoop bounds the variable of a loop from the first of its iterations, of which there are extent.
func (r Ranges) OfLoop(first, extent expr.Expr) Interval {
	lo := r.Of(first)
	return Interval{lo.Lo, lo.Add(r.Of(extent)).Hi - 1}
}

// Of bounds the values of e, an I64 expression.
func (r Ranges) Of(e expr.Expr) Interval {
	switch e := e.(type) {
	case *expr.Int:
		return Point(e.V)
	case *expr.Var:
		if i, ok := r[e]; ok {
			return i
		}
	case *expr.Binary:
		if e.Op.Compares() {
			return Interval{0, 1}
		}
		return r.ofBinary(e)
	case *expr.Select:
		return r.Of(e.A).Union(r.Of(e.B))
	case *expr.Cast:
		if e.To.IsInt() || e.To == types.Bool {
			to := ofType(e.To)
			if t := e.A.DType(); t.IsInt() || t == types.Bool {
				if from := r.Of(e.A); from.Lo >= to.Lo && from.Hi <= to.Hi {
					return from // the value does not change
				}
			}
			return to
		}
	}
	return ofType(e.DType())
}

func ofType(t types.DType) Interval {
	if t.IsFloat() || t.Bits() > 32 {
		return Everything
	}
	lo, hi := t.IntRange()
	return Interval{lo, hi}
}

func (r Ranges) ofBinary(e *expr.Binary) Interval {
	a, b := r.Of(e.A), r.Of(e.B)
	switch e.Op {
	case expr.OpAdd:
		return a.Add(b)
	case expr.OpSub:
		return a.Add(b.Scale(-1))
	case expr.OpMul:
		x, y := a.Scale(b.Lo), a.Scale(b.Hi)
		return x.Union(y)
	case expr.OpMin:
		return Interval{min(a.Lo, b.Lo), min(a.Hi, b.Hi)}
	case expr.OpMax:
		return Interval{max(a.Lo, b.Lo), max(a.Hi, b.Hi)}
	case expr.OpFloorDiv:
		if b.Single() && b.Lo > 0 {
			return Interval{floorDivBound(a.Lo, b.Lo), floorDivBound(a.Hi, b.Lo)}
		}
	case expr.OpFloorMod:
		if b.Single() && b.Lo > 0 {
			if a.Lo >= 0 && a.Hi < b.Lo {
				return a
			}
			return Interval{0, b.Lo - 1}
		}
	case expr.OpDiv:
		if b.Single() && b.Lo > 0 {
			return Interval{truncDivBound(a.Lo, b.Lo), truncDivBound(a.Hi, b.Lo)}
		}
	case expr.OpMod:
		if b.Single() && b.Lo > 0 && a.Lo >= 0 {
			return Interval{0, min(a.Hi, b.Lo-1)}
		}
	}
	return Everything
}

func floorDivBound(a, b int64) int64 {
	if a <= -Inf || a >= Inf {
		return a
	}
	return FloorDiv(a, b)
}

func truncDivBound(a, b int64) int64 {
	if a <= -Inf || a >= Inf {
		return a
	}
	return a / b
}

// FloorDiv rounds the quotient down; b is not 0.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// CeilDiv rounds the quotient up; b is not 0.
func CeilDiv(a, b int64) int64 { return -FloorDiv(-a, b) }
