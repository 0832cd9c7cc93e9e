package compile

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
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
	got, err := run(t, g, Options{Target: resolve(t, "llvm"), Level: 3, Workers: 2}, workers, in)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if diff, err := difference(want[i], got[i]); err != nil || !(diff <= tolerance(want[i].DType)) {
			t.Errorf("%s%+v of %s: result %d differs by %g (%v)", d.Name, attrs, in[0].Type(), i, diff, err)
		}
	}
	return got
}

// TestTopKOrder compares the order of ties, zeros of both signs, infinities and NaN for every element type, in rows along
// each axis and for every k.
func TestTopKOrder(t *testing.T) {
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
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct{ rows, n, k int }{{1, 100000, 5}, {1, 10000, 10000}, {64, 1000, 100}} {
		x := tensor.New(types.F32, c.rows, c.n)
		for i := range x.Len() {
			x.SetFloat(i, float64(r.IntN(c.n))) // with ties
		}
		compareWithEval(t, ops.TopK, ops.TopKAttrs{K: c.k, Axis: 1, Largest: true}, 2, x)
	}
}
