package compile

import (
	"testing"

	"lathe/internal/testkit/targettest"
)

// TestResident compiles a product of few rows as a network and as the body of a loop, of growing size: a loop asks for no weights that
// its last iteration has left in L2 or in its share of L3, a network for all of them.
func TestResident(t *testing.T) {
	o := Options{Target: targettest.Resolve(t, "llvm -mcpu=x86-64-v3"), Level: 3, Module: "default"}
	for _, c := range []struct {
		trips, width int
		want         string
	}{{1, 128, "ahead"}, {8, 128, "off"}, {1, 448, "ahead"}, {8, 448, "off"}, {8, 1024, "ahead"}} {
		_, p, _ := plannedNetwork(t, denseNetwork(t, c.trips, 3, c.width), o)
		asked := 0
		for _, s := range p.kernels() {
			if got, ok := s.plan.Taken["prefetch_panel"]; ok {
				if asked++; got != c.want {
					t.Errorf("%d iterations of %d x %d: prefetch_panel is %s, want %s", c.trips, c.width, c.width, got, c.want)
				}
			}
		}
		if asked != 1 {
			t.Errorf("%d iterations of %d x %d: %d kernels decide on prefetching", c.trips, c.width, c.width, asked)
		}
	}
}
