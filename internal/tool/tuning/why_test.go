package tuning

import (
	"strings"
	"testing"
)

// TestExpectation: what the model says of cycles is told by how much they differ, and that it is wrong where it is.
func TestExpectation(t *testing.T) {
	for _, tc := range []struct {
		a, b float64
		want string
	}{{6072845, 5089093, "16 % fewer"}, {100, 130, "30 % more cycles, which the machine does not"}, {1000, 1004, "as many"}, {1004, 1000, "as many"}} {
		if got := expectation(tc.a, tc.b); !strings.Contains(got, tc.want) {
			t.Errorf("of %v and %v cycles: %s", tc.a, tc.b, got)
		}
	}
}
