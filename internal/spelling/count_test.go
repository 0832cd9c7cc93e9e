package spelling

import "testing"

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n           int
		thing, want string
	}{{0, "byte", "0 bytes"}, {1, "axis", "1 axis"}, {2, "axis", "2 axes"}, {1, "class", "1 class"}, {3, "class", "3 classes"}, {-1, "step", "-1 steps"}} {
		if got := Count(c.n, c.thing); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.thing, got, c.want)
		}
	}
}
