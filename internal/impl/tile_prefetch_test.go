package impl_test

import (
	"fmt"
	"testing"

	"lathe/internal/impl/algorithms"
	"lathe/internal/lower"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// TestEpilogueAskedFor: tiles ask for the lines that they store to where their sums take longer than those, and where they lie in L2. Sums
// that are straight code have no step at which to ask.
func TestEpilogueAskedFor(t *testing.T) {
	for _, m := range machines {
		n := m.Lanes(32)
		for _, size := range []int{14, 112} {
			for _, in := range []int{2, 3, 512, 1024} {
				t.Run(fmt.Sprintf("%d/%dx%d", m.VectorBits, in, size), func(t *testing.T) {
					w := f32(types.Layout(fmt.Sprintf("ABCD%da", n)), 32, in, 1, 1)
					k := lower.Lower("conv2d", of(t, ops.Conv2d, conv(1, 1, 1), blocked(n), f32("", 1, in, size, size), w), lower.Options{})
					p, err := algorithms.Table.Choose(k, m, nil)
					if err != nil {
						t.Fatal(err)
					}
					want := "on"
					switch {
					case in == 3:
						want = ""
					case in == 2 && size == 112:
						want = "off"
					}
					if got := p.Taken["prefetch_epilogue"]; got != want {
						t.Errorf("rule %s, prefetch_epilogue %q; want %q", p.Rule, got, want)
					}
				})
			}
		}
	}
}
