package verify

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"lathe/internal/compile"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/testkit/graphtest"
	"lathe/internal/testkit/targettest"
	"lathe/internal/types"
)

// TestSwingingLoops: products in a loop whose weights L2 does not hold are taken there and back, by every number of workers, and by a package for one.
func TestSwingingLoops(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		target         string
		width, workers int
	}{
		{"llvm -mcpu=core-avx2 -caches=8,32,128", 96, 2}, {"llvm -mcpu=core-avx2 -caches=8,32,128", 200, 2}, {"llvm -mcpu=core-avx2 -caches=8,64,128", 256, 1},
		{"llvm -mcpu=core-avx2 -caches=8,64,128", 333, 4}, {"llvm -mcpu=x86-64 -caches=8,32,128", 160, 2},
	} {
		r := rand.New(rand.NewPCG(uint64(c.width), 67))
		row := types.Of(types.F32, 1, c.width)
		g, body := &graph.Graph{Name: "main"}, &graph.Graph{Name: "body"}
		v := body.Input("state", row)
		for range 2 {
			w := tensor.New(types.F32, c.width, c.width)
			for i := range w.Len() {
				w.SetFloat(i, r.NormFloat64()/math.Sqrt(float64(c.width))) // the state keeps its size
			}
			n, err := body.Apply(ops.Dense, op.None{}, v, graph.NewConst("", w))
			if err != nil {
				t.Fatal(err)
			}
			if n, err = body.Apply(ops.Tanh, op.None{}, n.Out[0]); err != nil {
				t.Fatal(err)
			}
			v = n.Out[0]
		}
		body.Outputs = []*graph.Value{v}
		l, err := graph.NewLoop(body, graph.LoopAttrs{Trips: 7, Carried: 1}, []*graph.Value{g.Input("x", row)})
		if err != nil {
			t.Fatal(err)
		}
		g.Nodes, g.Outputs = append(g.Nodes, l), []*graph.Value{l.Out[0]}
		l.Out[0].Name = "y"
		in := graphtest.Inputs(r, g)
		res, want := withReference(t, g, in, compile.Options{Target: targettest.Runnable(t, c.target), Level: 3, Workers: c.workers})
		workers := []int{1}
		if c.workers > 1 {
			workers = []int{1, 2, 3, 5}
		}
		if err := sameOutputs(res, in, want, workers...); err != nil {
			t.Error(fmt.Errorf("%+v: %w", c, err))
		}
	}
}
