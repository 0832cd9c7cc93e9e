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
	"lathe/internal/types"
)

// TestSubsampleData gathers what 1x1 convolutions with strides of all kinds read, whatever that costs, and leaves others.
func TestSubsampleData(t *testing.T) {
	gathered := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 98))
		rank := 1 + r.IntN(3)
		d := []*op.Def{1: ops.Conv1d, 2: ops.Conv2d, 3: ops.Conv3d}[rank]
		a := ops.ConvAttrs{Padding: make([]int, 2*rank), Groups: 1}
		x, w := []int{1 + r.IntN(2), 1 + r.IntN(5)}, []int{1 + r.IntN(9)}
		w = append(w, x[1])
		tap := 1 + r.IntN(8)/7
		strided := false
		for range rank {
			a.Strides, a.Dilation = append(a.Strides, 1+r.IntN(3)), append(a.Dilation, 1)
			x, w = append(x, 2+r.IntN(7)), append(w, tap)
			strided = strided || a.Strides[len(a.Strides)-1] > 1
		}
		xt, wt := types.Tensor{DType: types.F32, Shape: x}, types.Tensor{DType: types.F32, Shape: w}
		g := &graph.Graph{Name: "main"}
		n, err := g.Apply(d, a, g.Input("x", xt), g.Input("w", wt))
		if err != nil {
			t.Fatal(err)
		}
		n.Out[0].Name = "y"
		g.Outputs = []*graph.Value{n.Out[0]}
		in := []*tensor.Tensor{graphtest.Random(r, xt, graphtest.Moderate), graphtest.Random(r, wt, graphtest.Moderate)}
		want, err := grapheval.Eval(g, in)
		if err != nil {
			t.Fatal(err)
		}
		c := &Context{Graph: g, Target: machine, Level: 3, Chooser: func(string) choice.Chooser { return whereAsked{"subsample": "on"} }}
		runIn(t, "SubsampleData", c)
		if err := evaltest.SameValues(g, in, want); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, g)
		}
		if got, want := len(g.Nodes) > 1, strided && tap == 1; got != want {
			t.Errorf("seed %d: gathered %v, want %v\n%s", seed, got, want, g)
		} else if got {
			gathered++
		}
	}
	if gathered < 100 {
		t.Errorf("data were gathered in %d cases", gathered)
	}
}
