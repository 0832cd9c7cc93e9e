package arith

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// Facts are linear forms known to be at least 0.
type Facts []Linear

// And returns f and what a condition adds to it: the I64 comparisons of its conjunction.
func (f Facts) And(cond expr.Expr) Facts {
	if cond == nil {
		return f
	}
	out := f[:len(f):len(f)]
	for _, c := range Conjuncts(cond) {
		b, ok := c.(*expr.Binary)
		if !ok || !b.Op.Compares() || b.A.DType() != types.I64 {
			continue
		}
		d := LinearOf(b.A).Sub(LinearOf(b.B))
		neg := Linear{}.Sub(d)
		switch b.Op {
		case expr.OpGE:
			out = append(out, d)
		case expr.OpLE:
			out = append(out, neg)
		case expr.OpGT:
			d.Const--
			out = append(out, d)
		case expr.OpLT:
			neg.Const--
			out = append(out, neg)
		case expr.OpEQ:
			out = append(out, d, neg)
		}
	}
	return out
}

// nonNegative proves l >= 0 from ranges and at most one fact.
func (f Facts) nonNegative(l Linear, r Ranges) bool {
	if l.Range(r).Lo >= 0 {
		return true
	}
	for _, known := range f {
		if l.Sub(known).Range(r).Lo >= 0 {
			return true
		}
	}
	return false
}

const (
	moreFacts = 2       // that a proof takes besides one: with it, one for each axis of what lies in memory as one
	bounded   = 1 << 31 // what multiples of facts do not exceed, nor the numbers that they are taken by: products of both fit 64 bits
)

// covered proves that l is at least 0, or at least multiples of so many facts and one more: as often as l has a term that both share, as the
// rows before an element of a matrix whose elements are one axis. Only facts with bounds are multiplied: those about data may wrap.
func (f Facts) covered(l Linear, r Ranges, facts int) bool {
	if f.nonNegative(l, r) {
		return true
	}
	if facts == 0 {
		return false
	}
	for i, known := range f {
		n, reach := l.times(known), known.Range(r)
		if n < 1 || n > bounded || reach.Lo < -bounded || reach.Hi > bounded {
			continue
		}
		if f[i+1:].covered(l.Sub(known.scaled(n)), r, facts-1) {
			return true
		}
	}
	return false
}

// times is how often l has the first term of m that it has at all; 0 where that is no whole number.
func (l Linear) times(m Linear) int64 {
	for _, of := range m.Terms {
		for _, t := range l.Terms {
			if Equal(t.Atom, of.Atom) {
				if t.Coef%of.Coef != 0 {
					return 0
				}
				return t.Coef / of.Coef
			}
		}
	}
	return 0
}

// scaled is n times l.
func (l Linear) scaled(n int64) Linear {
	s := Linear{Const: n * l.Const, Terms: slices.Clone(l.Terms)}
	for i := range s.Terms {
		s.Terms[i].Coef *= n
	}
	return s
}

// Undivided is a condition in which comparisons of x floordiv c with a number, for positive c, compare x with a multiple of c:
// it holds for a straight line of x then, where the quotient is a staircase.
func Undivided(cond expr.Expr) expr.Expr {
	b, ok := cond.(*expr.Binary)
	if !ok {
		return cond
	}
	if b.Op == expr.OpAnd && b.DType() == types.Bool {
		return expr.And(Undivided(b.A), Undivided(b.B))
	}
	k, ok1 := expr.IntOf(b.B)
	q, ok2 := b.A.(*expr.Binary)
	if !ok1 || !ok2 || q.Op != expr.OpFloorDiv || q.DType() != types.I64 {
		return cond
	}
	c, ok := expr.IntOf(q.B)
	if most := Inf / max(c, 1); !ok || c <= 0 || k >= most || k <= -most {
		return cond
	}
	limit := func(n int64) expr.Expr { return &expr.Int{V: n * c, Type: types.I64} }
	switch b.Op {
	case expr.OpLT:
		return Undivided(expr.LT(q.A, limit(k)))
	case expr.OpLE:
		return Undivided(expr.LT(q.A, limit(k+1)))
	case expr.OpGE:
		return Undivided(expr.GE(q.A, limit(k)))
	case expr.OpGT:
		return Undivided(expr.GE(q.A, limit(k+1)))
	}
	return cond
}

// InRange proves 0 <= e < n.
func (f Facts) InRange(e expr.Expr, n int, r Ranges) bool {
	l := LinearOf(e)
	top := Linear{Const: int64(n) - 1}.Sub(l)
	return f.covered(l, r, moreFacts) && f.covered(top, r, moreFacts)
}

// Conjuncts splits a Bool expression at its logical ands.
func Conjuncts(e expr.Expr) []expr.Expr {
	if b, ok := e.(*expr.Binary); ok && b.Op == expr.OpAnd && b.DType() == types.Bool {
		return append(Conjuncts(b.A), Conjuncts(b.B)...)
	}
	return []expr.Expr{e}
}
