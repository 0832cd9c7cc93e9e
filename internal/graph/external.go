package graph

import (
	"errors"
	"fmt"

	"lathe/internal/op"
	"lathe/internal/types"
)

// External is the structural operator of a region that an external code generator computes, or the compiler itself: operand i of the
// node is input i of the sub-graph, result i its output i, all in plain layouts.
var External = &op.Def{
	Name: "external", Doc: "external is a region for an external code generator.", Args: []string{"operands..."}, Fusion: op.Opaque,
	Infer: func(any, []op.Arg) ([]types.Tensor, error) {
		return nil, errors.New("a region's types are its sub-graph's")
	},
	NewAttrs: func() (any, func() any) {
		p := new(ExternalAttrs)
		return p, func() any { return *p }
	},
}

// ExternalAttrs say who computes a region.
type ExternalAttrs struct {
	Compiler string // name of the external code generator
	Symbol   string // of what it generates, unique in the network; "" until PartitionGraph
}

// Composite is the structural operator of nodes that an external code generator takes for one: a sub-graph with a name.
var Composite = &op.Def{
	Name: "composite", Doc: "composite is a pattern of an external code generator.", Args: []string{"operands..."}, Fusion: op.Opaque,
	Infer: func(any, []op.Arg) ([]types.Tensor, error) {
		return nil, errors.New("a composite's types are its sub-graph's")
	},
	NewAttrs: func() (any, func() any) {
		p := new(CompositeAttrs)
		return p, func() any { return *p }
	},
}

// CompositeAttrs name a composite.
type CompositeAttrs struct {
	Composite string // the generator's name, a dot and the pattern's: dnnl.conv2d_relu
}

// NewRegion makes a node that computes sub on the given operands, for an external code generator: d is External or Composite, attrs
// are its attributes.
func NewRegion(d *op.Def, attrs any, sub *Graph, in []*Value) *Node {
	n := NewGroup(sub, in)
	n.Op, n.Attrs = d, attrs
	return n
}

// checkExternal holds a region or composite to its sub-graph.
func (n *Node) checkExternal() error {
	switch a := n.Attrs.(type) {
	case ExternalAttrs:
		if n.Op != External || a.Compiler == "" {
			return fmt.Errorf("no region has attributes %+v", a)
		}
	case CompositeAttrs:
		if n.Op != Composite || a.Composite == "" {
			return fmt.Errorf("no composite has attributes %+v", a)
		}
	default:
		return fmt.Errorf("attributes of type %T", a)
	}
	for _, list := range [][]*Value{n.In, n.Out} {
		for _, v := range list {
			if v.Type.Layout != "" {
				return fmt.Errorf("an operand or result has type %s", v.Type)
			}
		}
	}
	return n.checkGroup()
}
