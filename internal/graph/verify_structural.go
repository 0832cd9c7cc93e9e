package graph

import (
	"fmt"

	"lathe/internal/tool/spelling"
)

// structural returns the rule by which operands, results and sub-graphs of a structural operator match, or nil.
func structural(name string) func(n *Node) error {
	switch name {
	case "group":
		return (*Node).checkGroup
	case "loop":
		return (*Node).checkLoop
	case "if":
		return (*Node).checkIf
	case "external", "composite":
		return (*Node).checkExternal
	}
	return nil
}

func (n *Node) wantSubs(count int) error {
	if len(n.Sub) != count {
		return fmt.Errorf("%d sub-graphs instead of %d", len(n.Sub), count)
	}
	return nil
}

// checkGroup: operand i is input i of the sub-graph, result i its output i.
func (n *Node) checkGroup() error {
	if err := n.wantSubs(1); err != nil {
		return err
	}
	return connect(n.Sub[0], n.In, n.Out)
}

// connect checks that sub takes in and gives out, layouts included.
func connect(sub *Graph, in, out []*Value) error {
	if err := sameTypes("operand", in, "input", sub.Inputs); err != nil {
		return fmt.Errorf("sub-graph %q: %w", sub.Name, err)
	}
	if err := sameTypes("result", out, "output", sub.Outputs); err != nil {
		return fmt.Errorf("sub-graph %q: %w", sub.Name, err)
	}
	return nil
}

func sameTypes(outside string, a []*Value, inside string, b []*Value) error {
	if len(a) != len(b) {
		return fmt.Errorf("%s for %s", spelling.Count(len(a), outside), spelling.Count(len(b), inside))
	}
	for i := range a {
		if !a[i].Type.Equal(b[i].Type) {
			return fmt.Errorf("%s %d has type %s, %s %d %s", outside, i, a[i].Type, inside, i, b[i].Type)
		}
	}
	return nil
}
