package pass

import (
	"fmt"
	"slices"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// foldConstant evaluates nodes whose operands are all constants, and takes over values that inference knows. Results
// are kept only when they are not much larger than what they replace: a splat stays one until it is packed.
func foldConstant(c *Context) error {
	for _, n := range c.Graph.Nodes {
		if err := foldNode(c.Graph, n); err != nil {
			return err
		}
	}
	c.Graph.DeadCode()
	return nil
}

// growth bounds how many times larger than its operands a folded constant may be.
const growth = 16

func foldNode(g *graph.Graph, n *graph.Node) error {
	if n.Op.Eval == nil || len(n.Sub) > 0 {
		return nil
	}
	ins, size, all := make([]*tensor.Tensor, len(n.In)), 4096, true
	for i, v := range n.In {
		ins[i] = v.Value()
		if ins[i] == nil {
			all = false
			break
		}
		size += len(ins[i].Data)
	}
	vals := make([]*tensor.Tensor, len(n.Out))
	known := true
	for i, o := range n.Out {
		vals[i] = o.Known
		known = known && o.Known != nil
		size -= o.Type.Bytes() / growth
	}
	if !known {
		if !all || size < 0 {
			return nil
		}
		for i, o := range n.Out {
			vals[i] = tensor.NewOf(o.Type)
		}
		if err := n.Op.Eval(n.Attrs, ins, vals); err != nil {
			return fmt.Errorf("node %q: %w", n.Origin, err)
		}
	}
	if n.Op == ops.Copy && slices.Contains(g.Outputs, n.Out[0]) {
		return nil // it is there to write the output
	}
	for i, o := range n.Out {
		v := graph.NewConst(o.Name, vals[i])
		v.Type.Layout = o.Type.Layout
		output, name := slices.Contains(g.Outputs, o), o.Name
		g.Replace(o, v)
		if !output {
			continue
		}
		c, err := g.Apply(ops.Copy, op.None{}, v) // some kernel has to write it
		if err != nil {
			return fmt.Errorf("node %q: %w", n.Origin, err)
		}
		c.Origin = n.Origin
		c.Out[0].Name, v.Name = name, ""
		for j, u := range g.Outputs {
			if u == v {
				g.Outputs[j] = c.Out[0]
			}
		}
	}
	return nil
}
