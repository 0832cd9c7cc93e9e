package pass

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestOfConstants: weights that nodes make of constants are such, however many ways lead to one of these.
func TestOfConstants(t *testing.T) {
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, 2))
	c := graph.NewConst("c", tensor.New(types.F32, 2))
	known := map[*graph.Value]bool{}
	for _, start := range []*graph.Value{c, x} {
		v := start
		for range 100 {
			n, err := g.Apply(ops.Add, op.None{}, v, v)
			if err != nil {
				t.Fatal(err)
			}
			v = n.Out[0]
		}
		if got := ofConstants(v, known); got != (start == c) {
			t.Errorf("of %s: %t", start.Name, got)
		}
	}
}

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
