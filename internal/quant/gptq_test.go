package quant

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// related makes samples whose numbers hang together: rows are few hidden numbers mixed, and a little noise.
func related(r *rand.Rand, rows, depth int) func() []*tensor.Tensor {
	hidden := max(2, depth/6)
	mix := make([]float64, hidden*depth)
	for i := range mix {
		mix[i] = r.NormFloat64()
	}
	return func() []*tensor.Tensor {
		x := tensor.New(types.F32, rows, depth)
		for i := range rows {
			z := make([]float64, hidden)
			for k := range z {
				z[k] = r.NormFloat64()
			}
			for j := range depth {
				v := 0.1 * r.NormFloat64()
				for k := range z {
					v += z[k] * mix[k*depth+j]
				}
				x.SetFloat(i*depth+j, v)
			}
		}
		return []*tensor.Tensor{x}
	}
}

// ratioOn is the ratio of signal to noise at the outputs, on samples.
func ratioOn(t *testing.T, want, got *graph.Graph, samples list) float64 {
	t.Helper()
	signal, noise := 0.0, 0.0
	for _, in := range samples {
		a, err := grapheval.Eval(want, in)
		if err != nil {
			t.Fatal(err)
		}
		b, err := grapheval.Eval(got, in)
		if err != nil {
			t.Fatal(err)
		}
		for k := range a {
			x := tensor.As[float32](a[k])
			signal += distance(x, make([]float32, len(x)))
			noise += distance(tensor.As[float32](b[k]), x)
		}
	}
	return decibels(signal, noise)
}

// TestGPTQ: on data that hang together, the outputs of samples that were not calibrated with lose clearly less than by rounding to nearest, whatever the
// bits and blocks, of depths that are no multiple of a block too; and the same for any number of goroutines.
func TestGPTQ(t *testing.T) {
	gained, count := 0.0, 0
	for i, o := range []WeightOnlyOptions{
		{Bits: 4, Block: 32}, {Bits: 4, Block: 16, ZeroPoints: true}, {Bits: 4, Block: 64}, {Bits: 8, Block: 32}, {Bits: 8, Block: 128, ZeroPoints: true},
	} {
		for _, depth := range []int{64, 72, 67, 40} {
			r := rand.New(rand.NewPCG(uint64(depth), uint64(i)))
			g := products(t, r, depth)
			float, sample := g.Clone(), related(r, 24, depth)
			var calibrated, others list
			for range 12 {
				calibrated, others = append(calibrated, sample()), append(others, sample())
			}
			o.Least, o.Target, o.Build, o.Samples = 1000, host(t), reference, calibrated
			var results []*graph.Graph
			for _, v := range []struct {
				gptq    bool
				workers int
			}{{false, 1}, {true, 1}, {true, 3}} {
				o.GPTQ, o.Workers = v.gptq, v.workers
				res, err := WeightOnly(t.Context(), float.Clone(), o)
				if err != nil {
					t.Fatal(err)
				}
				results = append(results, res.Graph)
			}
			if !reflect.DeepEqual(constants(results[1]), constants(results[2])) {
				t.Errorf("%d bits, depth %d: 3 goroutines give other weights", o.Bits, depth)
			}
			nearest, gptq := ratioOn(t, float, results[0], others), ratioOn(t, float, results[1], others)
			if gptq < nearest+1 {
				t.Errorf("%d bits, blocks of %d, depth %d: %.1f dB at the outputs, %.1f by rounding to nearest", o.Bits, o.Block, depth, gptq, nearest)
			}
			gained += gptq - nearest
			count++
		}
	}
	if mean := gained / float64(count); mean < 3 {
		t.Errorf("the outputs gain %.1f dB on the average", mean)
	}
}

// constants are the bytes of a graph's constants.
func constants(g *graph.Graph) (list [][]byte) {
	for _, v := range g.Constants() {
		list = append(list, v.Const.Bytes())
	}
	return list
}

// TestFactorised: the factor times itself is the matrix and the damping, also of matrices without full rank, and of more than one panel.
func TestFactorised(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 91))
		n, rows := 1+r.IntN(130), 1+r.IntN(60)
		h := gramOf(r, rows, n)
		mean := 0.0
		for i := range n {
			mean += h[i*n+i] / float64(n)
		}
		want := append([]float64{}, h...)
		l := factorised(h, n, 1+r.IntN(3))
		for i := range n {
			for j := range n {
				sum := 0.0
				for k := max(i, j); k < n; k++ {
					sum += l[k*n+i] * l[k*n+j]
				}
				w := want[i*n+j]
				if i == j {
					w += damping * mean
				}
				if math.Abs(sum-w) > 1e-9*mean*float64(n) {
					t.Fatalf("seed %d: (%d,%d) of %d is %g, want %g", seed, i, j, n, sum, w)
				}
			}
		}
	}
	if l := factorised(make([]float64, 9), 3, 1); l != nil {
		t.Errorf("no data have the factor %v", l)
	}
}

// gramOf is X'X of random data, some of whose columns are alike and some zeros.
func gramOf(r *rand.Rand, rows, n int) []float64 {
	h := make([]float64, n*n)
	for range rows {
		x := make([]float64, n)
		for j := range x {
			switch {
			case j%7 == 3:
			case j > 0 && j%3 == 0:
				x[j] = 2 * x[j-1]
			default:
				x[j] = r.NormFloat64()
			}
		}
		x[0] = 1
		for i := range n {
			for j := range n {
				h[i*n+j] += x[i] * x[j]
			}
		}
	}
	return h
}

// TestGPTQRow: what a row loses is the square of its errors in the metric of the data, and never more than by rounding to nearest.
func TestGPTQRow(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 92))
		n := 1 + r.IntN(100)
		l := factorised(gramOf(r, 1+r.IntN(150), n), n, 1)
		w := make([]float32, n)
		for i := range w {
			w[i] = float32(r.NormFloat64())
		}
		o := WeightOnlyOptions{Block: 16 << r.IntN(3), ZeroPoints: seed%2 == 0}
		d := types.I4
		if o.ZeroPoints {
			d = types.U4
		}
		loss := func(q quantisedRow) float64 {
			e := make([]float64, n)
			for i := range e {
				v := q.numbers[i]
				if low, high := d.IntRange(); v < low || v > high {
					t.Fatalf("seed %d: %d is no %s", seed, v, d)
				}
				e[i] = float64(w[i]) - float64(q.grids[i/o.Block].value(float32(v)))
			}
			sum := 0.0
			for j := range n {
				s := dot(e[:j+1], l[j*n:])
				sum += s * s
			}
			return sum
		}
		q := o.gptqRows([][]float32{w}, d, l)[0]
		if got := loss(q); math.Abs(got-q.noise) > 1e-4*(got+1e-6*q.signal) {
			t.Errorf("seed %d: a row loses %g and says %g", seed, got, q.noise)
		}
		if near := loss(o.nearestRow(w, d)); q.noise > near*(1+1e-9) {
			t.Errorf("seed %d: a row loses %g, by rounding to nearest %g", seed, q.noise, near)
		}
	}
}

// TestGPTQRefuses: samples that are missing or whose numbers are none. Data that are always 0 are told, and weights rounded to nearest.
func TestGPTQRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	g := products(t, r, 64)
	o := WeightOnlyOptions{Bits: 4, Block: 32, Least: 1000, Target: host(t), Build: reference, GPTQ: true}
	if _, err := WeightOnly(t.Context(), g.Clone(), o); err == nil || !strings.Contains(err.Error(), "no samples") {
		t.Errorf("without samples: %v", err)
	}
	x := related(r, 24, 64)()
	o.Samples = list{x}
	x[0].SetFloat(5, math.Inf(1))
	if _, err := WeightOnly(t.Context(), g.Clone(), o); err == nil || !strings.Contains(err.Error(), `value "x": numbers of the samples are infinite`) {
		t.Errorf("infinite numbers: %v", err)
	}
	o.Samples = list{{tensor.New(types.F32, 24, 64)}}
	var notes []string
	o.Notes = func(s string) { notes = append(notes, s) }
	res, err := WeightOnly(t.Context(), g.Clone(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], `value "x" is 0 in all samples`) { // what the bias makes of them is not
		t.Errorf("zeros: %q", notes)
	}
	quantised := 0
	for _, n := range res.Graph.Nodes {
		if n.Op == ops.MatmulNBits {
			quantised++
		}
	}
	if quantised != 3 {
		t.Errorf("%d layers are quantised", quantised)
	}
}
