package compile

import (
	"testing"

	"lathe/internal/testkit/targettest"
)

// TestSwing: the product in a loop goes there and back where L2 does not hold its weights, and not where it does.
func TestSwing(t *testing.T) {
	o := Options{Target: targettest.Resolve(t, "llvm -mcpu=x86-64-v3 -caches=32,256,1024"), Level: 3, Module: "default"}
	for width, want := range map[int]bool{128: false, 192: false, 256: true, 512: true} {
		j, p, mem := plannedNetwork(t, denseNetwork(t, 8, 1, width), o)
		swings := 0
		for _, s := range entry(j, p, mem).Steps {
			if s.Loop == nil {
				continue
			}
			for _, in := range s.Loop.Steps {
				if in.Swings {
					swings++
					if in.Chunks < 2 || in.Chunks&(in.Chunks-1) != 0 || in.Chunks > in.Extent {
						t.Errorf("%d x %d: %d chunks of %d iterations", width, width, in.Chunks, in.Extent)
					}
				}
			}
		}
		if got := swings == 1; got != want {
			t.Errorf("%d x %d: %d kernels swing, want %v", width, width, swings, want)
		}
	}
}

// TestSwungChunks: each chunk has iterations, whatever a step has of them; steps of loops of their own may have none.
func TestSwungChunks(t *testing.T) {
	for extent := range 100 {
		for chunks := range 40 {
			got := swungChunks(chunks, extent)
			if got < 1 || got > max(1, extent) || got&(got-1) != 0 {
				t.Errorf("%d chunks of %d iterations become %d", chunks, extent, got)
			}
			if chunks <= 1 && extent >= 2*mostSwung && got != mostSwung {
				t.Errorf("%d iterations are cut into %d chunks, want %d", extent, got, mostSwung)
			}
		}
	}
}
