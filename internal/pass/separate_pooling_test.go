package pass

import (
	"math/rand/v2"
	"testing"

	"lathe/internal/choice"
	"lathe/internal/graph"
	"lathe/internal/graph/grapheval"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/evaltest"
	"lathe/internal/testkit/graphtest"
)

// TestSeparateWindows folds windows of all kinds axis by axis, whatever that costs.
func TestSeparateWindows(t *testing.T) {
	separated := 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 97))
		rank := 2 + r.IntN(2)
		d := []*op.Def{ops.MaxPool[rank], ops.AvgPool[rank]}[r.IntN(2)]
		attrs, types := d.Sample(r)
		g := &graph.Graph{Name: "main"}
		n, err := g.Apply(d, attrs, g.Input("x", types[0]))
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name = "y"
		g.Outputs = []*graph.Value{n.Out[0]}
		in := []*tensor.Tensor{graphtest.Random(r, types[0], graphtest.Moderate)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		before := g.String()
		c := &Context{Graph: g, Target: machine, Level: 3, Chooser: func(string) choice.Chooser { return whereAsked{"windows": "by axis"} }}
		runIn(t, "SeparateWindows", c)
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s\n%s", seed, err, before, g)
		}
		if len(g.Nodes) > 1 {
			separated++
		}
	}
	if separated < 200 {
		t.Errorf("windows were folded axis by axis in %d cases", separated)
	}
}
