package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestRows folds rows, and columns, of any length, of which a vector or an accumulator has only a part at the end, for vectors of every width.
// A NaN or an infinity anywhere in a row shows in its result, and in no other.
func TestRows(t *testing.T) {
	t.Parallel()
	samples := uint64(27)
	if testing.Short() {
		samples = 9
	}
	cases := []struct {
		def   *op.Def
		attrs any
	}{
		{ops.Softmax, ops.SoftmaxAttrs{Axis: 1}}, {ops.LogSoftmax, ops.SoftmaxAttrs{Axis: 1}},
		{ops.Softmax, ops.SoftmaxAttrs{Axis: 0}},
		{ops.Max, ops.ReduceAttrs{Axis: []int{1}}}, {ops.Min, ops.ReduceAttrs{Axis: []int{1}}},
		{ops.Sum, ops.ReduceAttrs{Axis: []int{1}}}, {ops.Mean, ops.ReduceAttrs{Axis: []int{1}}},
		{ops.CumSum, ops.CumulativeAttrs{}}, {ops.CumSum, ops.CumulativeAttrs{Exclusive: true, Reverse: true}},
	}
	for _, tgt := range targettest.Executed(t) {
		for seed := range samples {
			r := rand.New(rand.NewPCG(seed, 59))
			c := cases[int(seed)%len(cases)]
			in := types.Of([]types.DType{types.F32, types.F32, types.F64, types.F16}[r.IntN(4)], (2+r.IntN(9))*[]int{1, 12}[r.IntN(2)], 1+r.IntN([]int{20, 90, 400}[r.IntN(3)]))
			t.Run(fmt.Sprintf("%d vectors of %d bits/%d: %s of %s", tgt.VectorRegs, tgt.VectorBits, seed, c.def.Name, in), func(t *testing.T) {
				g := &graph.Graph{Name: "main"}
				n, err := g.Apply(c.def, c.attrs, g.Input("x", in))
				if err != nil {
					t.Fatal(err)
				}
				n.Out[0].Name, g.Outputs = "y", []*graph.Value{n.Out[0]}
				x := random(r, in)
				for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					if r.IntN(2) == 0 {
						x.SetFloat(r.IntN(x.Len()), odd)
					}
				}
				want, err := grapheval.Eval(g, []*tensor.Tensor{x})
				if err != nil {
					t.Fatal(err)
				}
				got, err := run(t, g, compile.Options{Target: tgt, Level: 3, Workers: 2}, 2, []*tensor.Tensor{x})
				if err != nil {
					t.Fatal(err)
				}
				if diff, err := difference(want[0], got[0]); err != nil || !(diff <= tolerance(in.DType)) {
					t.Errorf("differs by %g: %v", diff, err)
				}
			})
		}
	}
}
