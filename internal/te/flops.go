package te

import (
	"lathe/internal/expr"
	"lathe/internal/types"
)

// Flops counts the arithmetic of a stage by itself: one per operation on floats or integers in its body and combiner.
// Comparisons and the arithmetic of indices count for nothing.
func (s *Stage) Flops() float64 {
	if s.Body == nil {
		return 0
	}
	points := float64(types.Count(s.Type.Shape))
	for _, r := range s.Reduce {
		points *= float64(r.Extent)
	}
	ops := 0.0
	if s.Combine != None {
		ops++
	}
	return points * (ops + float64(expr.Operations(s.Body)))
}

// Multiplies returns the element type of the factors when s sums products: the widest type that is loaded for them.
// Sums of products of bytes are exact in wider types, and machines have instructions for them.
func (s *Stage) Multiplies() (types.DType, bool) {
	if s.Body == nil || s.Combine != Sum {
		return types.Invalid, false
	}
	widest := types.Invalid
	expr.Walk(s.Body, func(e expr.Expr) bool {
		b, ok := e.(*expr.Binary)
		if !ok || b.Op != expr.OpMul || widest != types.Invalid || b.DType() == types.I64 {
			return widest == types.Invalid
		}
		expr.Loads(b, func(l *expr.Load) {
			if t := l.From.Elem(); widest == types.Invalid || t.Size() > widest.Size() {
				widest = t
			}
		})
		return false
	})
	return widest, widest != types.Invalid
}
