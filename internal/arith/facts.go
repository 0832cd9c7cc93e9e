package arith

import (
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

// InRange proves 0 <= e < n.
func (f Facts) InRange(e expr.Expr, n int, r Ranges) bool {
	l := LinearOf(e)
	top := Linear{Const: int64(n) - 1}.Sub(l)
	return f.nonNegative(l, r) && f.nonNegative(top, r)
}

// Conjuncts splits a Bool expression at its logical ands.
func Conjuncts(e expr.Expr) []expr.Expr {
	if b, ok := e.(*expr.Binary); ok && b.Op == expr.OpAnd && b.DType() == types.Bool {
		return append(Conjuncts(b.A), Conjuncts(b.B)...)
	}
	return []expr.Expr{e}
}
