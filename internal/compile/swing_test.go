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

// TestSwing: the product in a loop goes there and back where L2 does not hold its weights, and not where it does.
func TestSwing(t *testing.T) {
	o := Options{Target: targettest.Resolve(t, "llvm -mcpu=x86-64-v3 -caches=32,256,1024"), Level: 3, Module: "default"}
	for width, want := range map[int]bool{128: false, 192: false, 256: true, 512: true} {
		row := types.Of(types.F32, 1, width)
		g, body := &graph.Graph{Name: "main"}, &graph.Graph{Name: "body"}
		n, err := body.Apply(ops.Dense, op.None{}, body.Input("state", row), graph.NewConst("", tensor.New(types.F32, width, width)))
		if err != nil {
			t.Fatal(err)
		}
		body.Outputs = []*graph.Value{n.Out[0]}
		l, err := graph.NewLoop(body, graph.LoopAttrs{Trips: 8, Carried: 1}, []*graph.Value{g.Input("x", row)})
		if err != nil {
			t.Fatal(err)
		}
		g.Nodes, g.Outputs = append(g.Nodes, l), []*graph.Value{l.Out[0]}
		l.Out[0].Name = "y"
		j, err := newJob(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		_, p, mem, err := j.plan(g)
		if err != nil {
			t.Fatal(err)
		}
		swings := 0
		for _, s := range entry(j, p, mem).Steps {
			if s.Loop == nil {
				continue
			}
			for _, in := range s.Loop.Steps {
				if in.Swings {
					swings++
					if in.Chunks < 2 || in.Chunks&(in.Chunks-1) != 0 || in.Chunks > in.Extent {
						t.Errorf("%d x %d: %d chunks of %d iterations", width, width, in.Chunks, in.Extent)
					}
				}
			}
		}
		if got := swings == 1; got != want {
			t.Errorf("%d x %d: %d kernels swing, want %v", width, width, swings, want)
		}
	}
}
