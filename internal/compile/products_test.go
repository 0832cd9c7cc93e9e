package compile

import (
	"context"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/plan"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// dense is the product of rows with a square matrix of weights.
func dense(t *testing.T, g *graph.Graph, x *graph.Value) *graph.Value {
	t.Helper()
	width := x.Type.Shape[len(x.Type.Shape)-1]
	n, err := g.Apply(ops.Dense, op.None{}, x, graph.NewConst("", tensor.New(types.F32, width, width)))
	if err != nil {
		t.Fatal(err)
	}
	return n.Out[0]
}

// denseNetwork is one product of so many rows, or with more than one trip the body of a loop.
func denseNetwork(t *testing.T, trips, rows, width int) *graph.Graph {
	t.Helper()
	row := types.Of(types.F32, rows, width)
	g := &graph.Graph{Name: "main"}
	y := g.Input("x", row)
	if trips > 1 {
		body := &graph.Graph{Name: "body"}
		body.Outputs = []*graph.Value{dense(t, body, body.Input("state", row))}
		n, err := graph.NewLoop(body, graph.LoopAttrs{Trips: trips, Carried: 1}, []*graph.Value{y})
		if err != nil {
			t.Fatal(err)
		}
		g.Nodes, y = append(g.Nodes, n), n.Out[0]
	} else {
		y = dense(t, g, y)
	}
	y.Name, g.Outputs = "y", []*graph.Value{y}
	return g
}

// plannedNetwork compiles a network up to where its values lie.
func plannedNetwork(t *testing.T, g *graph.Graph, o Options) (*job, *program, *plan.Plan) {
	t.Helper()
	j, err := newJob(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	_, p, mem, err := j.plan(g)
	if err != nil {
		t.Fatal(err)
	}
	return j, p, mem
}
