package compile

import (
	"context"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestResident compiles a product of few rows as a network and as the body of a loop, of growing size: a loop asks for no weights that
// its last iteration has left in L2 or in its share of L3, a network for all of them.
func TestResident(t *testing.T) {
	o := Options{Target: targettest.Resolve(t, "llvm -mcpu=x86-64-v3"), Level: 3, Module: "default"}
	product := func(g *graph.Graph, x *graph.Value, width int) *graph.Value {
		n, err := g.Apply(ops.Dense, op.None{}, x, graph.NewConst("", tensor.New(types.F32, width, width)))
		if err != nil {
			t.Fatal(err)
		}
		return n.Out[0]
	}
	for _, c := range []struct {
		trips, width int
		want         string
	}{{1, 128, "ahead"}, {8, 128, "off"}, {1, 448, "ahead"}, {8, 448, "off"}, {8, 1024, "ahead"}} {
		row := types.Of(types.F32, 3, c.width)
		g := &graph.Graph{Name: "main"}
		y := g.Input("x", row)
		if c.trips > 1 {
			body := &graph.Graph{Name: "body"}
			body.Outputs = []*graph.Value{product(body, body.Input("state", row), c.width)}
			n, err := graph.NewLoop(body, graph.LoopAttrs{Trips: c.trips, Carried: 1}, []*graph.Value{y})
			if err != nil {
				t.Fatal(err)
			}
			g.Nodes, y = append(g.Nodes, n), n.Out[0]
		} else {
			y = product(g, y, c.width)
		}
		y.Name, g.Outputs = "y", []*graph.Value{y}
		j, err := newJob(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		_, p, _, err := j.plan(g)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, s := range p.kernels() {
			if got, ok := s.plan.Taken["prefetch_panel"]; ok {
				if asked++; got != c.want {
					t.Errorf("%d iterations of %d x %d: prefetch_panel is %s, want %s", c.trips, c.width, c.width, got, c.want)
				}
			}
		}
		if asked != 1 {
			t.Errorf("%d iterations of %d x %d: %d kernels decide on prefetching", c.trips, c.width, c.width, asked)
		}
	}
}
