package verify

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// compareWithEval runs one operator on the given values and compares with its own evaluation.
func compareWithEval(t *testing.T, d *op.Def, attrs any, workers int, in ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	g := &graph.Graph{Name: "main"}
	var args []*graph.Value
	for _, x := range in {
		args = append(args, g.Input("x"+string(rune('0'+len(args))), x.Type()))
	}
	n, err := g.Apply(d, attrs, args...)
	if err != nil {
		t.Fatal(err)
	}
	var want []*tensor.Tensor
	for i, y := range n.Out {
		y.Name = "y" + string(rune('0'+i))
		want = append(want, tensor.NewOf(y.Type))
		g.Outputs = append(g.Outputs, y)
	}
	if err := d.Eval(attrs, in, want); err != nil {
		t.Fatal(err)
	}
	got, err := run(t, g, compile.Options{Target: targettest.Resolve(t, "llvm"), Level: 3, Workers: 2, Denormals: compile.DenormalsKeep}, workers, in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if diff, err := difference(actualResult(n, want, i), got[i]); err != nil || !(diff <= tolerance(want[i].DType)) {
			t.Errorf("%s%+v of %s: result %d differs by %g (%v)", d.Name, attrs, in[0].Type(), i, diff, err)
		}
	}
	return got
}

// TestTopKOrder compares the order of ties, zeros of both signs, infinities and NaN for every element type, in rows along
// each axis and for every k.
func TestTopKOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), -math.MaxFloat64, math.MaxFloat64, 5e-324}
	for _, d := range types.DTypes() {
		x := tensor.New(d, 3, 11, 2)
		for i := range x.Len() {
			if d.IsFloat() {
				x.SetFloat(i, special[r.IntN(len(special))])
			} else {
				x.SetInt(i, []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 7}[r.IntN(6)])
			}
		}
		for axis, k := range []int{3, 1 + r.IntN(11), 2} {
			compareWithEval(t, ops.TopK, ops.TopKAttrs{K: k, Axis: axis, Largest: r.IntN(2) == 0}, 2, x)
		}
	}
}

// TestTopKLong selects few of many elements, and sorts many.
func TestTopKLong(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ rows, n, k int }{{1, 100000, 5}, {1, 10000, 10000}, {64, 1000, 100}} {
		x := tensor.New(types.F32, c.rows, c.n)
		for i := range x.Len() {
			x.SetFloat(i, float64(r.IntN(c.n))) // with ties
		}
		compareWithEval(t, ops.TopK, ops.TopKAttrs{K: c.k, Axis: 1, Largest: true}, 2, x)
	}
}

// TestNMSOrder selects among many boxes with equal scores, some of them at the threshold, and NaN, with and without a threshold,
// for few results and for all.
func TestNMSOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 37, 600} {
		for _, a := range []ops.NMSAttrs{{MaxOutput: 5, IOUThreshold: 0.3, ScoreThreshold: 0.5, UseScore: true}, {MaxOutput: n, IOUThreshold: 0.6}, {MaxOutput: n, IOUThreshold: 0.1, ScoreThreshold: 0.9, UseScore: true, CenterPoint: true}} {
			boxes, scores := tensor.New(types.F32, 2, n, 4), tensor.New(types.F32, 2, 3, n)
			for i := range boxes.Len() {
				boxes.SetFloat(i, r.Float64())
			}
			for i := range scores.Len() {
				if scores.SetFloat(i, float64(r.IntN(9))/8); r.IntN(50) == 0 {
					scores.SetFloat(i, math.NaN())
				}
			}
			compareWithEval(t, ops.AllClassNMS, a, 2, boxes, scores)
		}
	}
}

// wild is a tensor of indices for an axis of n elements: most of them inside, many twice, some far outside.
func wild(r *rand.Rand, n int, shape ...int) *tensor.Tensor {
	x := tensor.New(types.I64, shape...)
	for i := range x.Len() {
		switch r.IntN(8) {
		case 0:
			x.SetInt(i, []int64{math.MaxInt64, math.MinInt64, int64(n), int64(-n - 1), int64(-n)}[r.IntN(5)])
		default:
			x.SetInt(i, int64(r.IntN(n))-int64(r.IntN(2)*n))
		}
	}
	return x
}

// TestScatter covers the divided and the serial forms, with repeated updates and indices that are nowhere.
func TestScatter(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for i, reduction := range []string{"none", "add", "mul", "max", "min"} {
		for _, d := range []types.DType{types.F32, []types.DType{types.Bool, types.F16, types.I8, types.U64, types.BF16}[i]} {
			data := func(shape ...int) *tensor.Tensor { return random(r, types.Of(d, shape...)) }
			elements := ops.ScatterElementsAttrs{Axis: 1, Reduction: reduction}
			compareWithEval(t, ops.ScatterElements, elements, 2, data(1, 30, 5), wild(r, 30, 1, 70, 4), data(1, 70, 4))
			compareWithEval(t, ops.ScatterElements, elements, 2, data(50, 30, 21), wild(r, 30, 40, 9, 21), data(40, 9, 21))
			nd := ops.ScatterNDAttrs{Reduction: reduction}
			compareWithEval(t, ops.ScatterND, nd, 2, data(9, 70), wild(r, 9, 50, 1), data(50, 70))
			compareWithEval(t, ops.ScatterND, nd, 2, data(13, 27, 70), wild(r, 13, 60, 2), data(60, 70))
			compareWithEval(t, ops.ScatterND, nd, 2, data(13, 7), wild(r, 1, 3, 0), data(3, 13, 7))
		}
	}
}

func TestMaxUnpoolAnyIndex(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for _, d := range types.DTypes() {
		x := random(r, types.Of(d, 2, 3, 5))
		compareWithEval(t, ops.MaxUnpool, ops.MaxUnpoolAttrs{Shape: []int{2, 3, 10}}, 2, x, wild(r, 60, 2, 3, 5))
	}
}

// TestCumulative compares columns that fill vectors, and long rows, with a plain loop.
func TestCumulative(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	for _, d := range []types.DType{types.F32, types.F64, types.F16, types.I8, types.U64} {
		for i, shape := range [][]int{{3, 5, 70}, {2, 6, 16}, {1, 7, 200}, {40, 300, 1}} {
			a := ops.CumulativeAttrs{Axis: 1, Exclusive: i%2 == 0, Reverse: i > 1}
			compareWithEval(t, ops.CumSum, a, 2, random(r, types.Of(d, shape...)))
			compareWithEval(t, ops.CumProd, a, 2, random(r, types.Of(d, shape...)))
		}
	}
}

// TestRegions gives the region operators regions inside, across and far outside of the feature map, turned round, and
// such that are no numbers.
func TestRegions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	edges := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1e30, 0, -1, 40}
	for i, d := range []types.DType{types.F32, types.F64, types.BF16} {
		data := random(r, types.Of(d, 3, []int{45, 40, 3}[i], 13, 17)) // blocks and groups of channels that are whole, and others
		rois, batched := tensor.New(d, 25, 4), tensor.New(d, 25, 5)
		for i := range 25 {
			for k := range 4 {
				v := float64(r.IntN(200)) / 4
				if i >= 15 && r.IntN(3) == 0 {
					v = edges[r.IntN(len(edges))]
				}
				rois.SetFloat(4*i+k, v)
				batched.SetFloat(5*i+k+1, v)
			}
			batched.SetFloat(5*i, float64(r.IntN(6)-2))
		}
		batch := wild(r, 3, 25)
		for _, mode := range []string{"avg", "max"} {
			for samples := range 3 {
				a := ops.RoiAlignAttrs{PooledSize: []int{3, 5}, SpatialScale: 0.25, SampleRatio: samples, Mode: mode, HalfPixel: samples == 1}
				compareWithEval(t, ops.RoiAlign, a, 2, data, rois, batch)
			}
		}
		compareWithEval(t, ops.RoiPool, ops.RoiPoolAttrs{PooledSize: []int{5, 3}, SpatialScale: 0.25}, 2, data, batched)
	}
}

// TestTopKRows selects from rows that lie beside each other in vectors, parts of one, or alone, few and many elements with ties.
func TestTopKRows(t *testing.T) {
	t.Parallel()
	samples := uint64(60)
	if testing.Short() {
		samples = 15
	}
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 107))
		d := []types.DType{types.F32, types.F32, types.F64, types.F16, types.I8, types.U32, types.I64, types.U64}[r.IntN(8)]
		x := tensor.New(d, 1+r.IntN(3), 1+r.IntN([]int{8, 200, 700}[r.IntN(3)]), 1+r.IntN([]int{1, 6, 40}[r.IntN(3)]))
		for i := range x.Len() {
			if v := r.IntN(1 + x.Shape[1]); d.IsFloat() {
				x.SetFloat(i, float64(v)-2)
			} else {
				x.SetInt(i, int64(v%100))
			}
		}
		k := 1 + r.IntN(min(x.Shape[1], []int{5, 18, 700}[r.IntN(3)]))
		compareWithEval(t, ops.TopK, ops.TopKAttrs{K: k, Axis: 1, Largest: r.IntN(2) == 0}, 2, x)
	}
}
