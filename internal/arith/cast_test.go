package arith

import (
	"testing"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// TestFoldedCasts: a cast of an integer constant becomes a constant where its type is one of constants.
func TestFoldedCasts(t *testing.T) {
	for _, from := range types.DTypes() {
		for _, to := range types.DTypes() {
			if from.IsFloat() {
				continue
			}
			e := Ranges{}.Simplify(&expr.Cast{A: &expr.Int{V: 1, Type: from}, To: to})
			if f, ok := e.(*expr.Float); ok && f.Type != f.Type.Compute() {
				t.Errorf("%s of a %s is a constant of a type that is storage only", to, from)
			}
			if e.DType() != to {
				t.Errorf("%s of a %s became %s", to, from, e.DType())
			}
		}
	}
}
