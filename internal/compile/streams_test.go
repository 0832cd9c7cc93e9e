package compile

import (
	"fmt"
	"strconv"
	"testing"

	"lathe/internal/testkit/targettest"
)

// TestStreams: a product of one row reads no more streams at once than the target gives fastest, and asks ahead only where twice as many would be faster.
func TestStreams(t *testing.T) {
	for _, most := range []int{1, 2, 4, 8} {
		o := Options{Target: targettest.Resolve(t, fmt.Sprintf("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4 -streams=%d", most)), Level: 3, Module: "default"}
		for _, width := range []int{512, 1000, 2048} {
			_, p, _ := plannedNetwork(t, denseNetwork(t, 1, 1, width), o)
			asked := 0
			for _, s := range p.kernels() {
				way, ok := s.plan.Taken["prefetch_panel"]
				if !ok {
					continue
				}
				asked++
				streams := 1 // where nothing is to be decided
				if text, ok := s.plan.Taken["streams"]; ok {
					n, err := strconv.Atoi(text)
					if err != nil {
						t.Fatal(err)
					}
					streams = n
				}
				if streams > most || way != "off" && 2*streams >= most {
					t.Errorf("-streams=%d, width %d: %d streams, prefetch_panel %s", most, width, streams, way)
				}
			}
			if asked != 1 {
				t.Errorf("-streams=%d, width %d: %d kernels decide on prefetching", most, width, asked)
			}
		}
	}
}
