package quant

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// sumsOff are the errors of rounded weights, in steps: the greatest of one weight, of the sum of a kernel, and of the sum of a channel.
func sumsOff(w *tensor.Tensor, q *quantisedWeights, axis int) (single, kernel, channel float64) {
	inner, taps := types.Count(w.Shape[axis+1:]), 1
	if len(w.Shape) > 2 {
		taps = types.Count(w.Shape[2:])
	}
	channels, kernels := map[int]float64{}, map[int]float64{}
	for i := range w.Len() {
		c := i / inner % w.Shape[axis]
		e := float64(q.weight.Int(i)) - w.Float(i)/float64(q.scale[c])
		single = math.Max(single, math.Abs(e))
		channels[c] += e
		kernels[i/taps] += e
	}
	for _, e := range channels {
		channel = math.Max(channel, math.Abs(e))
	}
	for _, e := range kernels {
		kernel = math.Max(kernel, math.Abs(e))
	}
	return single, kernel, channel
}

// TestRoundingKeepsSums: the sums that a rounding keeps are within half a step, weights within one, and what it keeps is more than rounding to nearest does.
func TestRoundingKeepsSums(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 81))
		shape, axis := []int{2 + r.IntN(4), 16 + r.IntN(40)}, r.IntN(2)
		if seed%2 == 0 {
			shape, axis = []int{2 + r.IntN(4), 8 + r.IntN(20), 3, 3}, 0
		}
		w := tensor.New(types.F32, shape...)
		for i := range w.Len() {
			w.SetFloat(i, r.Float64()*2-1)
		}
		for _, keep := range []rounding{{}, {kernels: true}, {channels: true}, keepSums} {
			q := quantiseWeights(w, nil, axis, 1, weightNumbers{most: 127, rounding: keep})
			single, kernel, channel := sumsOff(w, q, axis)
			const most = 0.5 + 1e-9
			if single > 1 || !keep.kernels && !keep.channels && single > most {
				t.Fatalf("seed %d: %q: a weight is off by %g steps", seed, keep, single)
			}
			if keep.kernels && !keep.channels && kernel > most {
				t.Errorf("seed %d: %q: the sum of a kernel is off by %g steps", seed, keep, kernel)
			}
			if keep.channels && channel > most {
				t.Errorf("seed %d: %q: the sum of a channel is off by %g steps", seed, keep, channel)
			}
		}
	}
}

// TestRoundingOfZeros: weights that are integers of the scale stay what they are, whatever is kept; so do zeros of pruned layers.
func TestRoundingOfZeros(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 82))
	w := tensor.New(types.F32, 3, 7, 3, 3)
	for i := range w.Len() {
		if i%5 > 0 {
			w.SetFloat(i, float64(r.IntN(255)-127)/127)
		}
	}
	for c := range 3 {
		w.SetFloat(c*63, 1)
	}
	nearest, kept := quantiseWeights(w, nil, 0, 1, weightNumbers{most: 127}), quantiseWeights(w, nil, 0, 1, weightNumbers{most: 127, rounding: keepSums})
	for i := range w.Len() {
		if nearest.weight.Int(i) != kept.weight.Int(i) {
			t.Errorf("weight %d, %g, is %d instead of %d", i, w.Float(i), kept.weight.Int(i), nearest.weight.Int(i))
		}
	}
}

// TestRoundingHelps: where the numbers of a kernel's taps are alike, sums of products lose less by a rounding that keeps the sums of kernels.
func TestRoundingHelps(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 83))
	w := tensor.New(types.F32, 4, 16, 3, 3)
	for i := range w.Len() {
		w.SetFloat(i, r.NormFloat64())
	}
	noise := func(keep rounding) float64 {
		back := quantiseWeights(w, nil, 0, 1, weightNumbers{most: 127, rounding: keep}).floats(0)
		r, sum := rand.New(rand.NewPCG(3, 83)), 0.0
		for range 200 {
			off := make([]float64, 4)
			for c := range 16 {
				level := r.Float64()
				for tap := range 9 {
					x := level + 0.1*r.NormFloat64()
					for k := range off {
						i := (k*16+c)*9 + tap
						off[k] += (back.Float(i) - w.Float(i)) * x
					}
				}
			}
			for _, e := range off {
				sum += e * e
			}
		}
		return sum
	}
	nearest := noise(rounding{})
	for _, keep := range []rounding{{kernels: true}, keepSums} {
		if got := noise(keep); got > nearest/2 {
			t.Errorf("%q: the noise is %g, and %g of weights that are rounded to nearest", keep, got, nearest)
		}
	}
}

// TestGreatest: the greatest errors are those that a stable sort has first, however many, with equals among them.
func TestGreatest(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 82))
		c := &channelRounding{}
		var list []int
		for i := range 1 + r.IntN(400) {
			c.errors = append(c.errors, float64(r.IntN(50)-25)/50)
			if r.IntN(4) > 0 {
				list = append(list, i)
			}
		}
		sign, n := float64(2*r.IntN(2)-1), 1+r.IntN(200)
		want := slices.Clone(list)
		slices.SortStableFunc(want, func(a, b int) int { return cmp.Compare(c.errors[b]*sign, c.errors[a]*sign) })
		want = want[:min(n, len(want))]
		if got := c.greatest(list, n, sign); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d of the greatest are %v, want %v", seed, n, got, want)
		}
	}
}
