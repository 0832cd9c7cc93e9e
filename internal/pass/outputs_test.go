package pass

import (
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Every graph output must stay a node's result of its own: some kernel has to write it.

func TestFoldConstantKeepsOutputs(t *testing.T) {
	g := &graph.Graph{Name: "main"}
	two := graph.NewConst("two", tensor.Of([]int{1, 3}, []float32{1, 2, 3}))
	sum, err := g.Apply(ops.Add, op.None{}, two, two)
	if err != nil {
		t.Fatal(err)
	}
	sum.Out[0].Name = "y"
	g.Outputs = sum.Out
	for range 2 { // running it again changes nothing
		if err := foldConstant(&Context{Graph: g}); err != nil {
			t.Fatal(err)
		}
		if err := graph.Verify(g); err != nil {
			t.Fatal(err)
		}
		y := g.Outputs[0]
		if y.Name != "y" || y.Def == nil || y.Def.Op != ops.Copy || len(g.Nodes) != 1 || y.Def.In[0].Const.Float(2) != 6 {
			t.Fatalf("the output is no copy of the folded constant:\n%s", g)
		}
	}
}

func TestEliminateCommonSubexprKeepsOutputs(t *testing.T) {
	g := &graph.Graph{Name: "main"}
	x := g.Input("x", types.Of(types.F32, 4))
	for _, name := range []string{"a", "b"} {
		n, err := g.Apply(ops.Add, op.None{}, x, x)
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name = name
		g.Outputs = append(g.Outputs, n.Out[0])
	}
	if err := eliminateCommonSubexpr(&Context{Graph: g}); err != nil {
		t.Fatal(err)
	}
	if g.Outputs[0] == g.Outputs[1] {
		t.Fatalf("two outputs are one value:\n%s", g)
	}
	if err := graph.Verify(g); err != nil {
		t.Error(err)
	}
}
