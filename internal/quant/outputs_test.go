package quant

import (
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/types"
)

// TestOutputsBeforeSoftmax: an output that a softmax makes is judged by what the softmax reads, about its mean, whatever its axis and the reshapes behind
// it; others by themselves.
func TestOutputsBeforeSoftmax(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 84))
		shape := []int{1 + r.IntN(3), 2 + r.IntN(3), 2 + r.IntN(5)}
		axis := r.IntN(3)
		g := &graph.Graph{Name: "main"}
		x := g.Input("x", types.Of(types.F32, shape...))
		apply := func(d *op.Def, a any, x *graph.Value) *graph.Value {
			n, err := g.Apply(d, a, x)
			if err != nil {
				t.Fatal(err)
			}
			return n.Out[0]
		}
		y := apply(ops.Softmax, ops.SoftmaxAttrs{Axis: axis}, x)
		known := true
		if seed%2 == 0 {
			y = apply(ops.Reshape, ops.ReshapeAttrs{NewShape: []int{shape[0] * shape[1], shape[2]}}, y)
			known = axis == 2
		}
		relu := apply(ops.Relu, op.None{}, x)
		y.Name, relu.Name = "y", "relu"
		g.Outputs = []*graph.Value{y, relu}
		list := outputs(g)
		if len(list) != 2 || list[0].softmax != known || list[1].softmax || list[1].result != 1 {
			t.Fatalf("seed %d: %+v", seed, list)
		}
		in := graphtest.Inputs(r, g)
		results, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		if got := list[1].numbers(results); &got[0] != &tensor.As[float32](results[1])[0] {
			t.Errorf("seed %d: relu is not judged by itself", seed)
		}
		if !known {
			continue
		}
		stride := types.Count(shape[axis+1:])
		for i, got := range list[0].numbers(results) {
			mean, first := 0.0, i-i/stride%shape[axis]*stride
			for k := range shape[axis] {
				mean += in[0].Float(first+k*stride) / float64(shape[axis])
			}
			if want := in[0].Float(i) - mean; math.Abs(float64(got)-want) > 1e-4*(1+math.Abs(want)) {
				t.Fatalf("seed %d: element %d is %g instead of %g", seed, i, got, want)
			}
		}
	}
}

// TestOutputsUnderflow: shares that are 0 as float32 are numbers in front of the softmax too.
func TestOutputsUnderflow(t *testing.T) {
	o := output{softmax: true, extent: 3, inner: 1}
	for _, x := range o.numbers([]*tensor.Tensor{tensor.Of([]int{1, 3}, []float32{1, 0, 1e-42})}) {
		if x-x != 0 || math.Abs(float64(x)) > 100 {
			t.Errorf("%g", x)
		}
	}
}
