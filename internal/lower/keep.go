package lower

import (
	"slices"

	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/types"
)

// costly returns the pointwise stages that are computed once and kept, because what reads them would otherwise repeat
// slow arithmetic: the mean and deviation of a row, read by all of its elements, and the exponentials of softmax, which
// are summed and then scaled. Only what depends on a reduction of the kernel counts: without one a kernel has no rows.
func costly(out *te.Stage) map[*te.Stage]bool {
	order := te.Order(out)
	readers := map[*te.Stage][]*te.Stage{}
	reduced := map[*te.Stage]bool{}
	for _, s := range order {
		reduced[s] = len(s.Reduce) > 0
		if s.Body == nil {
			continue
		}
		expr.Loads(s.Body, func(l *expr.Load) {
			from := l.From.(*te.Stage)
			reduced[s] = reduced[s] || reduced[from]
			if !slices.Contains(readers[from], s) {
				readers[from] = append(readers[from], s)
			}
		})
	}
	keep := map[*te.Stage]bool{}
	for _, s := range order {
		if s.Body != nil && len(s.Reduce) == 0 && s != out && reduced[s] && slow(s.Body) && repeated(s, readers[s]) {
			keep[s] = true
		}
	}
	return keep
}

// repeated reports whether readers evaluate an element of s again and again: a reader is larger, or one of several sums it.
func repeated(s *te.Stage, readers []*te.Stage) bool {
	n := types.Count(s.Type.Shape)
	for _, r := range readers {
		points := types.Count(r.Type.Shape)
		for _, a := range r.Reduce {
			points *= a.Extent
		}
		if points > n || len(r.Reduce) > 0 && len(readers) > 1 {
			return true
		}
	}
	return false
}

// slow reports whether an expression divides or calls a function.
func slow(e expr.Expr) bool {
	found := false
	expr.Walk(e, func(x expr.Expr) bool {
		switch x := x.(type) {
		case *expr.Load:
			return false // index arithmetic is cheap
		case *expr.Binary:
			found = found || x.A.DType().IsFloat() && (x.Op == expr.OpDiv || x.Op == expr.OpPow || x.Op == expr.OpMod)
		case *expr.Unary:
			found = found || x.Fn >= expr.FnSqrt && x.Fn < expr.FnFloor
		}
		return !found
	})
	return found
}
