package dpu

import (
	"math"
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

// TestPositions: the position without clamping is the greatest one, and of a histogram the same as of the values, or one of equal
// worth.
func TestPositions(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   int
	}{{-1, 1, 6}, {0, 127.0 / 128, 7}, {0, 127.49, 0}, {0, 127.51, -1}, {-128.4, 0, 0}, {0, 6, 4}, {0, 0, 0}} {
		if got := noOverflow(c.lo, c.hi); got != c.want {
			t.Errorf("[%g, %g]: %d instead of %d", c.lo, c.hi, got, c.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		size, tail := math.Exp(6*r.NormFloat64()), 1+r.IntN(30)
		values := make([]float32, 4000)
		lo, hi := 0.0, 0.0
		for i := range values {
			x := size * r.NormFloat64()
			if r.IntN(200) == 0 {
				x *= float64(tail)
			}
			values[i], lo, hi = float32(x), min(lo, x), max(hi, x)
		}
		h := Histogram{Range: math.Exp2(math.Ceil(math.Log2(max(-lo, hi)))), Bins: make([]int64, 2048), Min: lo, Max: hi}
		for _, x := range values {
			h.Bins[min(2047, int((float64(x)+h.Range)/h.Range*1024))]++
		}
		errorAt := func(p int) (sum float64) {
			for _, x := range values {
				d := float64(x) - math.Ldexp(float64(toFixed(x, p)), -p)
				sum += d * d
			}
			return sum
		}
		if got, want := h.Position(), bestOf(values); errorAt(got) > 1.05*errorAt(want) {
			t.Errorf("position %d has error %g, %d has %g", got, errorAt(got), want, errorAt(want))
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
			out, first := f.Positions[l.Out], f.Positions[l.In[0]]
			switch {
			case l.hasWeights():
				cut, bias := f.shifts(i)
				in("a sum", cut, 0, 16)
				if l.Bias != nil {
					in("a bias", bias, min(0, cut-16), 16)
				}
			case l.Kind == Add:
				second := f.Positions[l.In[1]]
				in("an operand", max(first, second)-min(first, second), 0, 15)
				in("a sum of maps", min(first, second)-out, -15, 15)
			case l.Kind == Multiply:
				in("a product", first+f.Positions[l.In[1]]-out, -16, 32)
			case l.keeps():
				in("a kept position", first-out, 0, 0)
			}
		}
	}
}
