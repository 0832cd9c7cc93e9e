package pass

import (
	"math/rand/v2"
	"testing"
)

// TestMetTaps: a tap is left out if no result reads data by it, there is padding for it, and all outside of it are.
func TestMetTaps(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	less := 0
	for range 20_000 {
		in, taps, stride, dilation := 1+rng.IntN(6), 1+rng.IntN(5), 1+rng.IntN(4), 1+rng.IntN(4)
		before, after := rng.IntN(12), rng.IntN(12)
		out := (in+before+after-dilation*(taps-1)-1)/stride + 1
		if in+before+after < dilation*(taps-1)+1 {
			continue
		}
		met := func(tap int) bool {
			for o := range out {
				if at := o*stride + tap*dilation - before; at >= 0 && at < in {
					return true
				}
			}
			return false
		}
		first, end := 0, taps
		for first+1 < taps && (first+1)*dilation <= before && !met(first) {
			first++
		}
		for end-1 > first && (taps-end+1)*dilation <= after && !met(end-1) {
			end--
		}
		if f, e := metTaps(in, out, taps, stride, dilation, before, after); f != first || e != end {
			t.Errorf("%d elements, %d taps, stride %d, dilation %d, padding %d and %d: from %d to %d, want %d to %d", in, taps, stride, dilation, before, after, f, e, first, end)
		}
		if first > 0 || end < taps {
			less++
		}
	}
	if less < 1000 {
		t.Errorf("%d are cut", less)
	}
}
