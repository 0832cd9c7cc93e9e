package graph

import (
	"errors"

	"lathe/internal/op"
	"lathe/internal/types"
)

// Group is the structural operator of a fused group: one sub-graph that becomes one kernel per result. Operand i of the
// node is input i of the sub-graph, result i its output i.
var Group = &op.Def{
	Name: "group", Doc: "group is a fused sub-graph.", Args: []string{"operands..."}, Fusion: op.Opaque,
	Infer: func(any, []op.Arg) ([]types.Tensor, error) {
		return nil, errors.New("a group's types are its sub-graph's")
	},
}

// NewGroup makes a node that computes sub on the given operands.
func NewGroup(sub *Graph, in []*Value) *Node {
	n := &Node{Op: Group, Attrs: op.None{}, In: in, Sub: []*Graph{sub}}
	for i, o := range sub.Outputs {
		n.Out = append(n.Out, &Value{Type: o.Type, Def: n, Index: i})
	}
	seen := map[string]bool{}
	for _, m := range sub.Nodes {
		for _, name := range m.Origin {
			if !seen[name] {
				seen[name] = true
				n.Origin = append(n.Origin, name)
			}
		}
	}
	return n
}
