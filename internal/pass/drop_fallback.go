package pass

import (
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
)

// DropFallback leaves nothing in the regions of external code generators that a package's own steps could compute. Their operands and
// results stay, and have places.
func DropFallback(g *graph.Graph) {
	for _, n := range g.Nodes {
		if n.Op == graph.External {
			rewrite.Hollow(n)
		}
	}
}
