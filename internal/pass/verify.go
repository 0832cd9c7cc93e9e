package pass

import (
	"fmt"

	"lathe/internal/graph"
	"lathe/internal/impl/algorithms"
	"lathe/internal/types"
)

// Verify reports what is wrong with the graph between two passes: what graph.Verify finds, and a node for whose layouts
// there is no kernel.
func Verify(c *Context) error {
	if err := graph.Verify(c.Graph); err != nil {
		return err
	}
	return acceptedLayouts(c.Graph)
}

func acceptedLayouts(g *graph.Graph) error {
	for _, n := range g.Nodes {
		for _, s := range n.Sub {
			if err := acceptedLayouts(s); err != nil {
				return err
			}
		}
		if err := algorithms.Table.Accepts(n.Op, typesOf(n.In), typesOf(n.Out)); err != nil {
			return fmt.Errorf("node %q (%s): %w", n.Origin, n.Op.Name, err)
		}
	}
	return nil
}

func typesOf(values []*graph.Value) []types.Tensor {
	list := make([]types.Tensor, len(values))
	for i, v := range values {
		list[i] = v.Type
	}
	return list
}
