package tensorflow

import (
	"testing"

	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// TestBias: a sum with a number for each channel is the bias of the convolution before it, unless something else reads that.
func TestBias(t *testing.T) {
	convolution := def("c", "Conv2D", "x f", "strides: list { i: 1 i: 1 i: 1 i: 1 }", `padding: s: "SAME"`)
	nodes := []string{input("x", 1, 2, 2, 1), floats("f", []int{1, 1, 1, 2}, 1, 10), floats("b", []int{2}, 5, 6), convolution, def("y", "BiasAdd", "c b")}
	for _, c := range []struct {
		nodes    []string
		operands int
	}{
		{nodes, 3},
		{append(nodes[:4:4], def("y", "AddV2", "b c")), 3},
		{append(nodes[:4:4], def("y", "BiasAdd", "c b"), def("z", "Relu", "c")), 2},
		{append(nodes[:4:4], floats("whole", []int{1, 2, 2, 2}, 5, 6), def("y", "AddV2", "c whole")), 2},
	} {
		g := imported(t, text(c.nodes...), frontend.Options{})
		if n := find(g, ops.Conv2d); n == nil || len(n.In) != c.operands {
			t.Errorf("%s: the convolution is %v, want %d operands", c.nodes[4], n, c.operands)
		}
		if c.operands == 3 {
			same(t, results(t, g, upTo(1, 2, 2, 1)), "y", 6, 16, 7, 26, 8, 36, 9, 46)
		}
	}
}

// TestDense: a product with a constant has its weight as dense layers have it, however the file turns it.
func TestDense(t *testing.T) {
	w := floats("w", []int{2, 2}, 1, 2, 3, 4)
	for _, nodes := range [][]string{
		{w, def("y", "MatMul", "x w")},
		{floats("v", []int{2, 2}, 1, 3, 2, 4), def("y", "MatMul", "x v", "transpose_b: b: true")},
		{floats("v", []int{2, 2}, 1, 3, 2, 4), ints("p", []int{2}, 1, 0), def("w", "Transpose", "v p"), def("y", "MatMul", "x w")},
	} {
		g := imported(t, text(append([]string{input("x", 1, 2)}, nodes...)...), frontend.Options{})
		if find(g, ops.Dense) == nil {
			t.Errorf("no dense layer in %v", g)
		}
		same(t, results(t, g, upTo(1, 2)), "y", 7, 10)
	}
}

// find is the first node of an operator that outputs need.
func find(g *graph.Graph, d *op.Def) *graph.Node {
	for _, n := range g.Nodes {
		if n.Op == d {
			return n
		}
	}
	return nil
}
