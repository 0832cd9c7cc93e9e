package intrin

import (
	"fmt"
	"math"
	"testing"

	"lathe/internal/expr"
	"lathe/internal/types"
)

// TestTanhBounded: tanh is never more than 1, which what reads it may rely on, and 1 from where on it rounds to that.
func TestTanhBounded(t *testing.T) {
	for _, m := range modes {
		t.Run(fmt.Sprintf("contract=%v,fused=%v", m.contract, m.fused), func(t *testing.T) {
			t.Parallel()
			f := function1(t, expr.FnTanh, types.F32, m)
			for x := float32(7.8); x < 9.1; x = math.Nextafter32(x, 10) {
				if y := f(float64(x)); y > 1 || x > 9.02 && y < 1 || f(-float64(x)) != -y {
					t.Fatalf("tanh(%g) = %g", x, y)
				}
			}
			if y := f(math.Copysign(0, -1)); y != 0 || !math.Signbit(y) {
				t.Errorf("tanh(-0) = %g", y)
			}
		})
	}
}
