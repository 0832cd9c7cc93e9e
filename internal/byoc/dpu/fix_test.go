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

// TestBiasCorrection: with the means of what it reads, a layer's results have the means that the model gives them, to half a step of the
// bias; without, rounded weights move them.
func TestBiasCorrection(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	for _, kind := range []Kind{Conv, Depthwise} {
		l := Layer{Kind: kind, From: []int{0}, To: 1, Kernel: [2]int{1, 3}, InChannels: 8, OutChannels: 8, Bias: make([]float32, 8)}
		inner := l.InChannels
		if kind == Depthwise {
			inner = 1
		}
		for range l.OutChannels * inner * 3 {
			l.Weights = append(l.Weights, float32(r.NormFloat64()))
		}
		means := make([]float32, l.InChannels)
		for i := range means {
			means[i], l.Bias[i] = 1+r.Float32(), r.Float32()
		}
		n := &Network{Tensors: []Tensor{{Shape: [4]int{1, 8, 1, 3}}, {Shape: [4]int{1, 8, 1, 1}}}, Layers: []Layer{l}, Inputs: []int{0}}
		worst := func(known []float32) (steps float64) {
			n.Tensors[0].Means = known
			f, err := n.Fix([]int{6, 3})
			if err != nil {
				t.Fatal(err)
			}
			p := f.Params[0]
			for c := range l.Bias {
				off := math.Ldexp(float64(p.Bias[c]), -p.BiasPos) - float64(l.Bias[c])
				for i := range 3 * inner {
					from := i / 3
					if kind == Depthwise {
						from = c
					}
					at := 3*inner*c + i
					off += (math.Ldexp(float64(p.Weights[at]), -p.WeightPos) - float64(l.Weights[at])) * float64(means[from])
				}
				steps = max(steps, math.Abs(math.Ldexp(off, p.BiasPos)))
			}
			return steps
		}
		if with, without := worst(means), worst(nil); with > 0.51 || without < 0.7 {
			t.Errorf("%s: means are %.2f steps off, and %.2f without a correction", kind, with, without)
		}
	}
}
