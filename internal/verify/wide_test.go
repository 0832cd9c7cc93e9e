package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/bundle"
	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestOtherVectors runs every operator under the schedules of machines with wider, narrower and more registers.
func TestOtherVectors(t *testing.T) {
	t.Parallel()
	samples := uint64(2)
	if testing.Short() {
		samples = 1
	}
	for _, c := range []struct{ bits, count int }{{512, 32}, {128, 32}} {
		o := compile.Options{Target: targettest.Registers(t, c.bits, c.count), Level: 3, Workers: 2}
		for _, d := range ops.All {
			if !implemented(d) || d.Sample == nil {
				continue // TestOperators reports it
			}
			t.Run(fmt.Sprintf("%dx%d/%s", c.count, c.bits, d.Name), func(t *testing.T) {
				for seed := range samples {
					r := rand.New(rand.NewPCG(seed, 11))
					attrs, in := d.Sample(r)
					testOperator(t, r, d, attrs, in, o, seed, Execute)
				}
			})
		}
	}
}

// TestWorkers runs operators that are large enough to be divided with 1, 2 and 3 workers: the bytes are the same, and
// right.
func TestWorkers(t *testing.T) {
	t.Parallel()
	f := func(shape ...int) types.Tensor { return types.Of(types.F32, shape...) }
	conv := func(groups int) ops.ConvAttrs {
		return ops.ConvAttrs{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Groups: groups}
	}
	pool := ops.PoolAttrs{PoolSize: []int{3, 3}, Strides: []int{2, 2}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}}
	tgt := targettest.Resolve(t, "llvm")
	for _, c := range []struct {
		def   *op.Def
		attrs any
		in    []types.Tensor
	}{
		{ops.Conv2d, conv(1), []types.Tensor{f(1, 16, 15, 15), f(35, 16, 3, 3), f(35)}},
		{ops.Conv2d, conv(24), []types.Tensor{f(1, 24, 31, 31), f(24, 1, 3, 3)}},
		{ops.Matmul, ops.MatmulAttrs{}, []types.Tensor{f(3, 37, 29), f(3, 29, 41)}},
		{ops.Dense, op.None{}, []types.Tensor{f(1, 300), f(131, 300)}},
		{ops.Softmax, ops.SoftmaxAttrs{Axis: 1}, []types.Tensor{f(61, 257)}},
		{ops.Softmax, ops.SoftmaxAttrs{Axis: 0}, []types.Tensor{f(61, 257)}},
		{ops.LayerNorm, ops.LayerNormAttrs{Axis: 1, Epsilon: 1e-5}, []types.Tensor{f(61, 257), f(257), f(257)}},
		{ops.MaxPool2d, pool, []types.Tensor{f(1, 19, 61, 61)}},
		{ops.Mean, ops.ReduceAttrs{Axis: []int{2, 3}}, []types.Tensor{f(1, 67, 31, 31)}},
		{ops.Sum, ops.ReduceAttrs{Axis: []int{0}}, []types.Tensor{f(301, 203)}},
		{ops.Transpose, ops.TransposeAttrs{Axes: []int{2, 0, 1}}, []types.Tensor{f(31, 43, 53)}},
		{ops.Concatenate, ops.ConcatenateAttrs{Axis: 1}, []types.Tensor{f(31, 43, 53), f(31, 11, 53)}},
		{ops.Add, op.None{}, []types.Tensor{f(31, 43, 53), f(43, 1)}},
		{ops.TopK, ops.TopKAttrs{K: 7, Axis: 1, Largest: true}, []types.Tensor{f(61, 257)}},
		{ops.ArgMax, ops.ArgAttrs{Axis: 1}, []types.Tensor{f(61, 1057)}},
		{ops.CumSum, ops.CumulativeAttrs{Axis: 1}, []types.Tensor{f(61, 1057)}},
	} {
		t.Run(c.def.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 12))
			g := &graph.Graph{Name: "main"}
			var in, want []*tensor.Tensor
			var args []*graph.Value
			for i, ty := range c.in {
				in = append(in, random(r, ty))
				args = append(args, g.Input(fmt.Sprintf("x%d", i), ty))
			}
			n, err := g.Apply(c.def, c.attrs, args...)
			if err != nil {
				t.Fatal(err)
			}
			for i, y := range n.Out {
				y.Name = fmt.Sprintf("y%d", i)
				want = append(want, tensor.NewOf(y.Type))
				g.Outputs = append(g.Outputs, y)
			}
			if err := c.def.Eval(c.attrs, in, want); err != nil {
				t.Fatal(err)
			}
			res, err := compile.Compile(context.Background(), g, compile.Options{Target: tgt, Level: 3, Workers: 2})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(res.Contents.Manifest.Steps, func(s bundle.Step) bool { return s.Workers != 1 }) {
				t.Error("no kernel is divided among workers")
			}
			if err := sameOutputs(res, in, want, 1, 2, 3); err != nil {
				t.Error(err)
			}
		})
	}
}
