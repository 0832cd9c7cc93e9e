package lower

import (
	"lathe/internal/expr"
	"lathe/internal/te"
	"lathe/internal/types"
)

// leastPeriod is the number of elements from which on a loop of its own reads them faster than lanes that are gathered.
const leastPeriod = 8

// periods makes two axes of the innermost one of a pointwise stage that reads periodically along it, as a repeated tensor is read:
// along the inner one addresses are linear. Memory does not change.
//
//	y[i, j] = x[i, j % 17]   →   y[i, r, j] = x[i, j], j in 0..17
func periods(out *te.Stage) *te.Stage {
	last := len(out.Axes) - 1
	if out.Type.Layout != "" || out.Tag != "" || computed(out) != 1 || types.Count(out.Type.Shape) == 0 {
		return out
	}
	for last >= 0 && out.Type.Shape[last] == 1 {
		last--
	}
	if last < 0 {
		return out
	}
	v, extent, period := out.Axes[last], out.Type.Shape[last], 0
	expr.Walk(out.Body, func(e expr.Expr) bool {
		if n, ok := remainderOf(e, v); ok && n >= leastPeriod && n < extent && extent%n == 0 && (period == 0 || period%n == 0) {
			period = n
		}
		return true
	})
	if period == 0 {
		return out
	}
	return grouping{last, period, period}.stage(out)
}

// computed is the number of stages of out that are no operands.
func computed(out *te.Stage) int {
	n := 0
	for _, s := range te.Order(out) {
		if s.Body != nil {
			n++
		}
	}
	return n
}

// remainderOf is the divisor of a remainder of v; ok is false where e is none.
func remainderOf(e expr.Expr, v *expr.Var) (n int, ok bool) {
	m, isBinary := e.(*expr.Binary)
	if !isBinary || m.Op != expr.OpFloorMod || m.A != expr.Expr(v) {
		return 0, false
	}
	c, ok := expr.IntOf(m.B)
	return int(c), ok
}
