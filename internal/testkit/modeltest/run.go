package modeltest

import (
	"testing"

	"lathe/internal/compile"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/verify"
)

// Import makes a graph of a model for the shapes of what is given for its inputs; nil: for those of the model.
func Import(t testing.TB, m *frontend.Model, given Arrays) *graph.Graph {
	t.Helper()
	var o frontend.Options
	if given != nil {
		var names []string
		for _, v := range m.Graph.Inputs {
			names = append(names, v.Name)
		}
		o.Shapes = map[string][]int{}
		for i, x := range given.Of(t, names) {
			o.Shapes[names[i]] = x.Shape
		}
	}
	g, err := frontend.Import(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Run compiles a copy of a graph for this machine at an -O level, and returns the outputs for tensors that stand in the order of
// its inputs.
func Run(t testing.TB, g *graph.Graph, level int, in []*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	res, err := compile.Compile(t.Context(), g.Clone(), compile.Options{Target: targettest.Resolve(t, "llvm"), Level: level, Workers: 2})
	if err != nil {
		t.Fatalf("-O%d: %v", level, err)
	}
	out, err := verify.Execute(res, in, 1)
	if err != nil {
		t.Fatalf("-O%d: %v", level, err)
	}
	return out
}

// Names returns the names of inputs or outputs of a graph.
func Names(values []*graph.Value) (list []string) {
	for _, v := range values {
		list = append(list, v.Name)
	}
	return list
}
