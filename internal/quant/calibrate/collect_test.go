package calibrate

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// given are samples that are their own results.
type given []*tensor.Tensor

func (g given) Len() int                                          { return len(g) }
func (g given) At(i int) ([]*tensor.Tensor, error)                { return g[i : i+1], nil }
func (g given) Run(in []*tensor.Tensor) ([]*tensor.Tensor, error) { return in, nil }
func (g given) collect(t *testing.T, axis int) *Statistics        { return g.mapped(t, axis, nil) }
func (g given) mapped(t *testing.T, axis int, by []float64) *Statistics {
	t.Helper()
	list := g
	if by != nil {
		list = nil
		for _, x := range g {
			y := tensor.New(types.F32, x.Shape...)
			inner := types.Count(x.Shape[2:])
			for i, v := range tensor.As[float32](x) {
				tensor.As[float32](y)[i] = v * float32(1/by[i/inner%len(by)])
			}
			list = append(list, y)
		}
	}
	s, err := Collect(context.Background(), list, list, []Tap{{Axis: axis}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s[0]
}

// TestSplit: the histograms of channels together are the histogram of all numbers, and divided they are that of divided numbers, as far as bins tell: extremes and
// numbers of zeros are exact, and shares of the numbers lie about where they do.
func TestSplit(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 4))
		channels := 1 + r.IntN(6)
		by, size := make([]float64, channels), make([]float64, channels)
		for c := range by {
			by[c], size[c] = math.Exp(r.NormFloat64()), math.Exp(2*r.NormFloat64())
		}
		var g given
		for range 1 + r.IntN(5) {
			x := tensor.New(types.F32, 1+r.IntN(2), channels, 5, 1+r.IntN(60))
			inner := types.Count(x.Shape[2:])
			for i := range x.Len() {
				c := i / inner % channels
				v := r.NormFloat64() * size[c]
				if seed%2 == 0 { // as behind a relu
					v = max(v, 0)
				}
				if seed%5 == 0 && c == 0 { // a channel of zeros
					v = 0
				}
				if seed%7 == 0 && r.IntN(50) == 0 {
					v = math.Inf(1 - 2*r.IntN(2))
				}
				x.SetFloat(i, v)
			}
			g = append(g, x)
		}
		split := g.collect(t, 1)
		if whole := g.collect(t, -1); !reflect.DeepEqual(split.Histogram, whole.Histogram) {
			t.Fatalf("seed %d: channels together are another histogram", seed)
		}
		got, want := split.Divided(by), g.mapped(t, 1, by)
		if !reflect.DeepEqual(got.Channels, want.Channels) || !reflect.DeepEqual(got.tally, want.tally) {
			t.Fatalf("seed %d: divided: %+v %+v, want %+v %+v", seed, got.tally, got.Channels, want.tally, want.Channels)
		}
		counted := int64(0)
		for _, n := range got.Counts {
			counted += n
		}
		if counted != got.Total-got.Zeros {
			t.Fatalf("seed %d: %d numbers in bins, %+v", seed, counted, got.tally)
		}
		// A number has moved by half of its channel's bin at most.
		off := got.Width()
		for c := range split.split {
			off = math.Max(off, split.split[c].Limit/Bins/by[c]+got.Width())
		}
		for _, p := range []float64{50, 90, 99, 99.9} {
			a, b := Percentile(p)(&got.Histogram, 255, false), Percentile(p)(&want.Histogram, 255, false)
			if math.Abs(a.Min-b.Min) > 2*off || math.Abs(a.Max-b.Max) > 2*off {
				t.Errorf("seed %d: %g %% lie in %v, want %v within %g", seed, p, a, b, off)
			}
		}
	}
}
