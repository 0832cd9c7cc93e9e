package compose

import (
	"math/rand/v2"
	"slices"
	"testing"

	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// TestOperandsOfLoops makes loops whose bodies read some of what they are given: a loop has no operand that its body does not
// read, carried values apart, and the results stand for what the body gave.
func TestOperandsOfLoops(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 83))
		g := &graph.Graph{Name: "main"}
		b := Builder{Graph: g}
		a := graph.LoopAttrs{Trips: 5, Carried: 1 + r.IntN(4), Sequences: r.IntN(3)}
		var in []*graph.Value
		for range a.Carried {
			in = append(in, g.Input("", types.Of(types.F32, 3)))
		}
		for range a.Sequences {
			in = append(in, g.Input("", types.Of(types.F32, a.Trips, 3)))
		}
		outside := g.Input("", types.Of(types.F32, 3))
		passed := make([]bool, a.Carried)
		out := b.Loop(a, in, func(given []*graph.Value) (results []*graph.Value) {
			pool := append(slices.Clone(given), outside)
			for range r.IntN(4) {
				pool = append(pool, b.Do(ops.Add, pool[r.IntN(len(pool))], pool[r.IntN(len(pool))]))
			}
			for k := range a.Carried + r.IntN(2) {
				v := pool[r.IntN(len(pool))]
				if k < a.Carried && r.IntN(2) == 0 {
					v = given[k]
				}
				if k < a.Carried {
					passed[k] = v == given[k]
				}
				results = append(results, v)
			}
			return results
		})
		for k, same := range passed {
			if same != (out[k] == in[k]) {
				t.Errorf("seed %d: carried value %d changes: %v\n%s", seed, k, !same, g)
			}
		}
		for _, n := range g.Nodes {
			if n.Op != graph.Loop {
				continue
			}
			body := n.Sub[0]
			for i, v := range body.Inputs[n.Attrs.(graph.LoopAttrs).Carried:] {
				if !slices.Contains(body.Outputs, v) && !slices.ContainsFunc(body.Nodes, func(n *graph.Node) bool { return slices.Contains(n.In, v) }) {
					t.Errorf("seed %d: nothing reads operand %d behind the carried values\n%s", seed, i, g)
				}
			}
		}
	}
}
