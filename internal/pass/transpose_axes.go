package pass

import (
	"lathe/internal/graph"
	"lathe/internal/ops"
)

func transposeAxes(n *graph.Node) []int { return n.Attrs.(ops.TransposeAttrs).Axes }
