package pass

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/types"
)

// TestLayoutSettles: on graphs of transposes among nodes that treat all axes alike, with axes of one element, values read
// in several orders, broadcast operands and results of regions that other regions read, every sweep of ConvertLayout
// lowers what is transposed, and values stay.
func TestLayoutSettles(t *testing.T) {
	samples := uint64(1500)
	if testing.Short() {
		samples = 200
	}
	fewer := 0
	for seed := range samples {
		r := rand.New(rand.NewPCG(seed, 41))
		g := transposeGraph(r)
		var in []*tensor.Tensor
		for _, v := range g.Inputs {
			in = append(in, smallValues(r, v.Type))
		}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before, text := transposedBytes(g), g.String()
		fell, err := settleLayout(&Context{Graph: g, Target: machine, Level: 3, names: map[string]bool{}, Asked: map[string][]choice.Decision{}})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if err := graph.Verify(g); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, text, g)
		}
		after := transposedBytes(g)
		if !fell || after > before {
			t.Fatalf("seed %d: %d bytes are transposed, %d were; every sweep lowers them: %v\n%s\n%s", seed, after, before, fell, text, g)
		}
		if after < before {
			fewer++
		}
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, text, g)
		}
	}
	if fewer < int(samples)/6 {
		t.Errorf("only %d of %d graphs have less to transpose", fewer, samples)
	}
}

// transposeGraph is a random graph of transposes, pointwise nodes, sums, concatenations and splits.
func transposeGraph(r *rand.Rand) *graph.Graph {
	g := &graph.Graph{Name: "main"}
	rank := 3 + r.IntN(2)
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = []int{1, 1, 2, 3, 4}[r.IntN(5)]
	}
	vals := []*graph.Value{g.Input("x", types.Of(types.F32, shape...)), g.Input("b", types.Of(types.F32, shape[1:]...))}
	apply := func(d *op.Def, attrs any, in ...*graph.Value) {
		if n, err := g.Apply(d, attrs, in...); err == nil && n.Out[0].Type.Elements() <= 2000 {
			vals = append(vals, n.Out...)
		} else if err == nil {
			g.Nodes = g.Nodes[:len(g.Nodes)-1]
		}
	}
	for range 3 + r.IntN(12) {
		x, y := vals[r.IntN(len(vals))], vals[r.IntN(len(vals))]
		n := len(x.Type.Shape)
		if n == 0 {
			continue
		}
		axis := r.IntN(n)
		switch r.IntN(11) {
		case 0, 1, 2, 3:
			apply(ops.Transpose, ops.TransposeAttrs{Axes: r.Perm(n)}, x)
		case 4, 5:
			apply(ops.Tanh, op.None{}, x)
		case 6, 7:
			apply(ops.Add, op.None{}, x, y)
		case 8:
			apply(ops.Concatenate, ops.ConcatenateAttrs{Axis: axis}, x, y)
		case 9:
			apply(ops.Mean, ops.ReduceAttrs{Axis: []int{axis}, KeepDims: r.IntN(2) == 0}, x)
		case 10:
			if k := x.Type.Shape[axis]; k > 1 {
				apply(ops.Split, ops.SplitAttrs{Axis: axis, Sizes: []int{1, k - 1}}, x)
			} else {
				apply(ops.Softmax, ops.SoftmaxAttrs{Axis: axis}, x)
			}
		}
	}
	for i := range 1 + r.IntN(3) {
		v := vals[len(vals)-1-r.IntN(min(4, len(vals)))]
		if v.Def != nil && !slices.Contains(g.Outputs, v) {
			v.Name = fmt.Sprint("y", i)
			g.Outputs = append(g.Outputs, v)
		}
	}
	g.DeadCode()
	return g
}
