package rewrite

import "lathe/internal/graph"

// Hollow takes all nodes out of the graph of a node, for something else to compute. Its inputs and outputs stay.
func Hollow(n *graph.Node) {
	body := *n.Sub[0]
	body.Nodes = nil
	n.Sub[0] = &body
}
