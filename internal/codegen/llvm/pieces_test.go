package llvm

import (
	"slices"
	"testing"
)

// TestPieces are runs of lanes in powers of two, the longest first.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		lanes string
		want  []piece
	}{
		{"1000", []piece{{0, 1}}},
		{"1100", []piece{{0, 2}}},
		{"11111110", []piece{{0, 4}, {4, 2}, {6, 1}}},
		{"00111011", []piece{{2, 2}, {4, 1}, {6, 2}}},
		{"0000", nil},
	} {
		var active []bool
		for _, l := range c.lanes {
			active = append(active, l == '1')
		}
		if got := pieces(active); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v instead of %v", c.lanes, got, c.want)
		}
	}
}
