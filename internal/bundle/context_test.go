package bundle

import "testing"

// The offsets are part of the ABI: docs/ARCHITECTURE.md lists them.
func TestContextOffsets(t *testing.T) {
	for _, c := range []struct {
		pointer int
		want    Context
	}{
		{8, Context{0, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 84, 88, 96, 104, 112, 120}},
		{4, Context{0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64, 68}},
	} {
		if got := ContextOf(c.pointer); got != c.want {
			t.Errorf("pointers of %d bytes: %+v, want %+v", c.pointer, got, c.want)
		}
	}
}
