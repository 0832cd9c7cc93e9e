package matrix

import (
	"testing"

	"lathe/internal/impl"
	"lathe/internal/target"
)

// TestPanelOfLongSums: panels of two tiles, which reuse data and weights alike, are chosen for sums of any length that parts bring into L1, and not
// only for those of which L1 holds a whole panel.
func TestPanelOfLongSums(t *testing.T) {
	spec, err := target.Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids")
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := spec.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := impl.Core{Target: resolved}
	for _, depth := range []int{512, 1024, 1536, 2048, 3072, 4096, 8192} {
		for _, rows := range []int{128, 512, 2048} {
			s := rowsBy(rows, 2048, depth)
			if one, two := s.whole(1, c), s.whole(2, c); two >= one {
				t.Errorf("%d rows, sums of %d: panels of two tiles take %.0f cycles, of one %.0f", rows, depth, two, one)
			}
		}
	}
}
