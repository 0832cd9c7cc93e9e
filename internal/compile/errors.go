package compile

import (
	"errors"
	"fmt"
	"strings"

	"lathe/internal/fault"
	"lathe/internal/graph"
)

// working does a piece of work of a phase, on the kernels of a node unless that is nil. A panic is an error that names the node.
func (j *job) working(n *graph.Node, phase string, f func() error) error {
	err := fault.Guard(func() error { j.begin(phase); return f() })
	if caught := (*fault.Error)(nil); n != nil && errors.As(err, &caught) {
		return nodeError(n, strings.Join(operators(n), "+"), err)
	}
	return err
}

// operators lists the names of the operators of a node.
func operators(n *graph.Node) (names []string) {
	if len(n.Sub) != 1 {
		return []string{n.Op.Name}
	}
	for _, m := range n.Sub[0].Nodes {
		names = append(names, m.Op.Name)
	}
	return names
}

// failed names a group in an error of one of its kernels.
func failed(n *graph.Node, err error) error {
	if err == nil {
		return nil
	}
	return nodeError(n, strings.Join(operators(n), "+"), err)
}

func nodeError(n *graph.Node, what string, err error) error {
	if len(n.Origin) > 0 {
		return fmt.Errorf("node %q (%s): %w", strings.Join(n.Origin, "+"), what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
