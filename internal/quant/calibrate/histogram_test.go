package calibrate

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// draw makes numbers over many powers of two, with zeros among them.
func draw(r *rand.Rand, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		if r.IntN(5) > 0 {
			list[i] = float32(r.NormFloat64() * math.Ldexp(1, r.IntN(12)-6))
		}
	}
	return list
}

// TestHistogramOrder: what is counted depends on the numbers, not on their order, nor on how they come in pieces.
func TestHistogramOrder(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		list := draw(r, 1+r.IntN(400))
		var want, pieces Histogram
		want.Add(list)
		shuffled := slices.Clone(list)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		for rest := shuffled; len(rest) > 0; {
			n := 1 + r.IntN(len(rest))
			pieces.Add(rest[:n])
			rest = rest[n:]
		}
		if !reflect.DeepEqual(want, pieces) {
			t.Fatalf("seed %d: in pieces and another order it is another histogram", seed)
		}
	}
}

// TestHistogramBins: every number is in the bin that holds it, and numbers that are none are counted apart.
func TestHistogramBins(t *testing.T) {
	var h Histogram
	list := []float32{0, 1, -1, 0.999, 3.5, float32(math.Inf(1)), float32(math.NaN())}
	h.Add(list)
	if h.Total != 5 || h.Zeros != 1 || h.Unfit != 2 || h.Min != -1 || h.Max != 3.5 || h.Limit != 4 {
		t.Fatalf("%+v", h)
	}
	counted := int64(0)
	for i, n := range h.Counts {
		counted += n
		if n > 0 && !slices.ContainsFunc(list, func(x float32) bool { return math.Abs(float64(x)-h.Centre(i)) <= h.Width()/2 }) {
			t.Errorf("bin %d about %g holds %d numbers", i, h.Centre(i), n)
		}
	}
	if counted != 4 {
		t.Errorf("%d numbers in bins", counted)
	}
}

// TestRules: ranges hold 0 and lie within the extremes, and each rule does what it says.
func TestRules(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 2))
		var h Histogram
		list := draw(r, 2000)
		if seed%3 == 0 { // as behind relu
			for i, x := range list {
				list[i] = max(x, 0)
			}
		}
		h.Add(list)
		whole := MinMax(&h, 255, false)
		if whole.Min != float64(min(slices.Min(list), 0)) || whole.Max != float64(max(slices.Max(list), 0)) {
			t.Fatalf("seed %d: the extremes are %v", seed, whole)
		}
		for name, rule := range map[string]Rule{"percentile": Percentile(99), "mse": MSE, "kl": KLDivergence} {
			if got := rule(&h, 255, false); got.Min > 0 || got.Max < 0 || got.Min < whole.Min || got.Max > whole.Max {
				t.Errorf("seed %d: %s: %v is not within %v, or without 0", seed, name, got, whole)
			}
		}
		if p := Percentile(99)(&h, 255, false); h.Clipped(p) > 0.01 {
			t.Errorf("seed %d: %g of the numbers lie beyond a range for 99 %%", seed, h.Clipped(p))
		}
		if e, all := squaredError(list, MSE(&h, 255, false)), squaredError(list, whole); e > all*1.01 {
			t.Errorf("seed %d: the range of least error errs by %g, the whole one by %g", seed, e, all)
		}
	}
	var h Histogram
	h.Add([]float32{-1, 2})
	if got := Global(8)(&h, 255, false); got != (Range{-8, 8}) {
		t.Errorf("global: %v", got)
	}
}

// TestOutlier: one number far away widens only the range that must hold it.
func TestOutlier(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	list := make([]float32, 100000)
	for i := range list {
		list[i] = float32(r.NormFloat64())
	}
	list[7] = 30
	var h Histogram
	h.Add(list)
	for name, rule := range map[string]Rule{"percentile": Percentile(99.99), "kl": KLDivergence} {
		if got := rule(&h, 255, false); got.Max > 10 || got.Max < 2 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := MinMax(&h, 255, false); got.Max != 30 {
		t.Errorf("extremes: %v", got)
	}
}

// squaredError is that of rounding numbers to 255 steps of a range.
func squaredError(list []float32, r Range) float64 {
	step, sum := (r.Max-r.Min)/255, 0.0
	for _, x := range list {
		f := float64(x)
		q := math.Min(math.Max(math.RoundToEven((f-r.Min)/step)*step+r.Min, r.Min), r.Max)
		sum += (f - q) * (f - q)
	}
	return sum
}
