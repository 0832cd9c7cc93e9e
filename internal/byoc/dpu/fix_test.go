package dpu

import (
	"math/rand/v2"
	"testing"
)

// TestAverageFactors pins the factors that cpu-runner's table and search give.
func TestAverageFactors(t *testing.T) {
	for _, c := range []struct{ h, w, factor, shift int }{{3, 3, 7, 6}, {5, 5, 10, 8}, {7, 7, 21, 10}, {14, 14, 21, 12}, {2, 2, 1, 2}, {1, 1, 1, 0}, {2, 3, 85, 9}, {8, 8, 1, 6}, {10, 10, 41, 12}} {
		if n, m := averageFactor([2]int{c.h, c.w}); n != c.factor || m != c.shift {
			t.Errorf("%dx%d: %d/2^%d instead of %d/2^%d", c.h, c.w, n, m, c.factor, c.shift)
		}
	}
}

// TestFixKeepsShifts draws positions far apart: all shifts stay in the engine's ranges, and classes have one position.
func TestFixKeepsShifts(t *testing.T) {
	arch, err := Lookup("DPUCZDX8G-zcu104")
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		n, err := Read(arch, region(t, r, arch))
		if err != nil {
			t.Fatal(err)
		}
		p := make([]int, len(n.Tensors))
		for i := range p {
			p[i] = r.IntN(50) - 10
		}
		f, err := n.Fix(p)
		if err != nil {
			continue // products of a map with itself, say, that share its position
		}
		in := func(what string, v, lo, hi int) {
			if v < lo || v > hi {
				t.Errorf("%d: shift of %s is %d, not in [%d, %d]", seed, what, v, lo, hi)
			}
		}
		for i := range f.Layers {
			l := &f.Layers[i]
			out, first := f.Positions[l.To], f.Positions[l.From[0]]
			switch {
			case l.hasWeights():
				cut, bias := f.shifts(i)
				in("a sum", cut, 0, 16)
				if l.Bias != nil {
					in("a bias", bias, min(0, cut-16), 16)
				}
			case l.Kind == Add:
				second := f.Positions[l.From[1]]
				in("an operand", max(first, second)-min(first, second), 0, 15)
				in("a sum of maps", min(first, second)-out, -15, 15)
			case l.Kind == Multiply:
				in("a product", first+f.Positions[l.From[1]]-out, -16, 32)
			case l.keeps():
				in("a kept position", first-out, 0, 0)
			}
		}
	}
}
