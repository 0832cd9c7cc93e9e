package grapheval

import (
	"lathe/internal/graph"
)

// Peak returns the most bytes that the tensors of an evaluation of g take at once, inputs and outputs included and constants not,
// and the node that is evaluated then, nil for the inputs. What an operator needs within its evaluation comes on top.
func Peak(g *graph.Graph) (bytes int64, at *graph.Node) {
	left, live := readers(g), int64(0)
	for _, v := range g.Inputs {
		live += size(v)
	}
	bytes = live
	for _, n := range g.Nodes {
		made, within := int64(0), int64(0)
		for _, v := range n.Out {
			made += size(v)
		}
		for _, s := range n.Sub {
			inside, _ := Peak(s)
			for _, v := range s.Inputs { // they are the operands, or lie in them
				inside -= size(v)
			}
			within = max(within, inside)
		}
		if now := live + made + within; now > bytes {
			bytes, at = now, n
		}
		for _, v := range n.Out {
			if left[v] > 0 {
				live += size(v)
			}
		}
		for _, v := range n.In {
			if left[v]--; left[v] == 0 && v.Const == nil {
				live -= size(v)
			}
		}
	}
	return bytes, at
}

func size(v *graph.Value) int64 {
	return int64(v.Type.Bytes())
}
