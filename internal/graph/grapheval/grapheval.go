// Package grapheval runs a graph by the reference evaluation of its operators: slow, obvious, and what compiled
// networks are compared with. It knows no operator by name.
package grapheval

import (
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
)

// Eval computes g's outputs from its inputs, both in their order in g. Inputs must have the types g gives them.
// Groups, composites, loops, branches and regions run their sub-graphs; other nodes with sub-graphs are an error.
func Eval(g *graph.Graph, inputs []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return Watch(g, inputs, func(*graph.Node, []*tensor.Tensor, []*tensor.Tensor) error { return nil })
}

// Watch is Eval that shows each node of g with its operands and results to see, whose error ends it. The nodes of a loop's body are
// shown in every iteration, before the loop. see must not change them.
func Watch(g *graph.Graph, inputs []*tensor.Tensor, see func(n *graph.Node, in, out []*tensor.Tensor) error) ([]*tensor.Tensor, error) {
	if len(inputs) != len(g.Inputs) {
		return nil, fmt.Errorf("graph %q: %s instead of %d", g.Name, spelling.Count(len(inputs), "input"), len(g.Inputs))
	}
	e := evaluation{values: map[*graph.Value]*tensor.Tensor{}, left: readers(g), see: see}
	for i, in := range g.Inputs {
		if t := inputs[i]; t.DType != in.Type.DType || !slices.Equal(t.Shape, in.Type.Shape) {
			return nil, fmt.Errorf("input %q is %s instead of %s", in.Name, t.Type(), in.Type)
		}
		e.values[in] = inputs[i]
	}
	for _, n := range g.Nodes {
		if err := e.node(n); err != nil {
			return nil, fmt.Errorf("graph %q: node %s %v: %w", g.Name, n.Op.Name, n.Origin, err)
		}
	}
	out := make([]*tensor.Tensor, len(g.Outputs))
	for i, v := range g.Outputs {
		out[i] = e.value(v)
	}
	return out, nil
}

// An evaluation holds the values that some node still reads.
type evaluation struct {
	values map[*graph.Value]*tensor.Tensor
	left   map[*graph.Value]int
	see    func(n *graph.Node, in, out []*tensor.Tensor) error
}

// readers counts how often each value is read, an output counting as a read that never comes.
func readers(g *graph.Graph) map[*graph.Value]int {
	left := map[*graph.Value]int{}
	for _, n := range g.Nodes {
		for _, v := range n.In {
			left[v]++
		}
	}
	for _, v := range g.Outputs {
		left[v]++
	}
	return left
}

func (e *evaluation) value(v *graph.Value) *tensor.Tensor {
	if v.Const != nil {
		return v.Const
	}
	return e.values[v]
}

func (e *evaluation) node(n *graph.Node) error {
	in, out := make([]*tensor.Tensor, len(n.In)), make([]*tensor.Tensor, len(n.Out))
	for i, v := range n.In {
		if in[i] = e.value(v); in[i] == nil {
			return fmt.Errorf("operand %d has no value", i)
		}
	}
	for i, v := range n.Out {
		out[i] = tensor.NewOf(v.Type)
	}
	switch {
	case n.Op == graph.Group, n.Op == graph.Composite:
		results, err := Eval(n.Sub[0], in)
		if err != nil {
			return err
		}
		out = results
	case n.Op == graph.External:
		results, err := Watch(n.Sub[0], in, e.see)
		if err != nil {
			return err
		}
		out = results
	case n.Op == graph.If:
		results, err := Watch(n.Sub[Taken(in[0])], in[1:], e.see)
		if err != nil {
			return err
		}
		out = results
	case n.Op == graph.Loop:
		body := func(body *graph.Graph, in []*tensor.Tensor) ([]*tensor.Tensor, error) { return Watch(body, in, e.see) }
		if err := Loop(n, in, out, body); err != nil {
			return err
		}
	case len(n.Sub) > 0 || n.Op.Eval == nil:
		return fmt.Errorf("the operator has no reference evaluation")
	default:
		if err := n.Op.Eval(n.Attrs, in, out); err != nil {
			return err
		}
	}
	if err := e.see(n, in, out); err != nil {
		return err
	}
	for i, v := range n.Out {
		if e.left[v] > 0 {
			e.values[v] = out[i]
		}
	}
	for _, v := range n.In {
		if e.left[v]--; e.left[v] == 0 {
			delete(e.values, v)
		}
	}
	return nil
}
