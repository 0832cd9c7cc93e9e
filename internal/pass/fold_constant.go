package pass

import (
	"fmt"

	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
)

// foldConstant evaluates nodes whose operands are all constants, and takes over values that inference knows. Results
// are kept only when they are not much larger than what they replace: a splat stays one until it is packed. All results
// together, and the steps of their evaluation, are bounded in proportion to the constants of the model; what goes beyond
// is left to run time.
func foldConstant(c *Context) error {
	f := &folding{g: c.Graph, constants: map[*graph.Value]*graph.Value{}, outs: map[*graph.Value][]int{}, work: leastFoldWork, bytes: leastFoldBytes}
	for _, v := range c.Graph.Constants() {
		f.work += float64(len(v.Const.Data)) * foldWorkPerByte
		f.bytes += len(v.Const.Data) * foldBytesPerByte
	}
	for i, o := range c.Graph.Outputs {
		f.outs[o] = append(f.outs[o], i)
	}
	for _, n := range c.Graph.Nodes {
		if err := c.ended(); err != nil {
			return err
		}
		for i, v := range n.In {
			if w := f.constants[v]; w != nil {
				n.In[i] = w
			}
		}
		if err := f.node(n); err != nil {
			return err
		}
	}
	c.Graph.Nodes = append(c.Graph.Nodes, f.copies...)
	c.Graph.DeadCode()
	return nil
}

// growth bounds how many times larger than its operands a folded constant may be.
const growth = 16

// What folding may take: steps of evaluation, of which a core makes some ten million a second, and memory.
const (
	leastFoldWork    = 1 << 24
	foldWorkPerByte  = 2
	leastFoldBytes   = 64 << 20
	foldBytesPerByte = 4
)

type folding struct {
	g         *graph.Graph
	constants map[*graph.Value]*graph.Value // what replaces results
	outs      map[*graph.Value][]int        // the graph's outputs by value
	copies    []*graph.Node                 // that write outputs
	work      float64                       // that is left
	bytes     int                           // likewise
}

func (f *folding) node(n *graph.Node) error {
	if n.Op.Eval == nil || len(n.Sub) > 0 {
		return nil
	}
	vals, err := f.evaluated(n)
	if err != nil || vals == nil {
		return err
	}
	if n.Op == ops.Copy && f.outs[n.Out[0]] != nil {
		return nil // it is there to write the output
	}
	for i, o := range n.Out {
		v := graph.NewConst(o.Name, vals[i])
		v.Type.Layout = o.Type.Layout
		f.constants[o] = v
		if f.outs[o] == nil {
			continue
		}
		c := &graph.Node{Op: ops.Copy, Attrs: op.None{}, In: []*graph.Value{v}, Origin: n.Origin} // some kernel has to write it
		if err := c.Infer(); err != nil {
			return fmt.Errorf("node %q: %w", n.Origin, err)
		}
		c.Out[0].Name, v.Name = o.Name, ""
		for _, k := range f.outs[o] {
			f.g.Outputs[k] = c.Out[0]
		}
		f.copies = append(f.copies, c)
	}
	return nil
}

// evaluated returns n's results, nil when they are not to be folded.
func (f *folding) evaluated(n *graph.Node) ([]*tensor.Tensor, error) {
	vals := make([]*tensor.Tensor, len(n.Out))
	known, bytes := true, 0
	for i, o := range n.Out {
		vals[i] = o.Known
		known = known && o.Known != nil
		bytes += o.Type.With("").Bytes()
	}
	if known {
		return vals, nil
	}
	ins, size := make([]*tensor.Tensor, len(n.In)), 4096
	for i, v := range n.In {
		if ins[i] = v.Value(); ins[i] == nil {
			return nil, nil
		}
		size += len(ins[i].Data)
	}
	if bytes/growth > size || bytes > f.bytes {
		return nil, nil
	}
	work := n.Work()
	if work > f.work {
		return nil, nil
	}
	f.work, f.bytes = f.work-work, f.bytes-bytes
	for i, o := range n.Out {
		vals[i] = tensor.NewOf(o.Type)
	}
	if err := n.Op.Eval(n.Attrs, ins, vals); err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Origin, err)
	}
	return vals, nil
}
