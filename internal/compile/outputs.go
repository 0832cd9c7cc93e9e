package compile

import (
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// ownOutputs gives every graph output a node result of its own: one that is an input, a constant or another output too
// gets a copy, for the run context has a buffer for each.
func ownOutputs(g *graph.Graph) {
	seen := map[*graph.Value]bool{}
	for i, o := range g.Outputs {
		if o.Def != nil && !seen[o] {
			seen[o] = true
			continue
		}
		n, err := g.Apply(ops.Copy, op.None{}, o)
		if err != nil {
			panic(err)
		}
		n.Out[0].Name = o.Name
		g.Outputs[i] = n.Out[0]
		seen[n.Out[0]] = true
	}
}
