package dnnl

import (
	"context"
	"fmt"

	"lathe/internal/byoc"
	"lathe/internal/graph"
	"lathe/internal/types"
	"lathe/runtime/dnnl"
)

// A writer makes the program of a region.
type writer struct {
	program dnnl.Program
	tensors map[*graph.Value]int
	data    []byte
}

// compile writes the region as a program. Its constants are in the module, in the order that the model has them: which one the
// library likes best is known on the machine that opens the package.
func compile(ctx context.Context, r byoc.Region, o byoc.Options) (byoc.Module, error) {
	w := &writer{tensors: map[*graph.Value]int{}}
	for _, v := range r.Graph.Inputs {
		w.program.Inputs = append(w.program.Inputs, w.tensor(v))
	}
	for _, n := range r.Graph.Nodes {
		if err := ctx.Err(); err != nil {
			return byoc.Module{}, err
		}
		if err := w.node(n); err != nil {
			return byoc.Module{}, fmt.Errorf("node %q (%s): %w", n.Origin, n.Op.Name, err)
		}
	}
	for _, v := range r.Graph.Outputs {
		w.program.Outputs = append(w.program.Outputs, w.tensors[v])
	}
	b, err := w.program.Marshal(w.data)
	if err != nil {
		return byoc.Module{}, err
	}
	if _, err := dnnl.Parse(b); err != nil { // what would not open is an error here
		return byoc.Module{}, err
	}
	return byoc.Module{Kind: byoc.Blob, Bytes: b, Runtime: dnnl.Name, WhenFaster: whenFaster(o)}, nil
}

// tensor is the number of a value.
func (w *writer) tensor(v *graph.Value) int {
	if i, ok := w.tensors[v]; ok {
		return i
	}
	t := dnnl.Tensor{Shape: integers(v.Type.Shape)}
	if v.IsConst() {
		t.Const, t.Offset = true, w.constant(v)
	}
	return w.add(v, t)
}

func (w *writer) add(v *graph.Value, t dnnl.Tensor) int {
	i := len(w.program.Tensors)
	w.program.Tensors = append(w.program.Tensors, t)
	if v != nil {
		w.tensors[v] = i
	}
	return i
}

// constant writes the bytes of a constant.
func (w *writer) constant(v *graph.Value) int64 {
	const alignment = 64
	w.data = append(w.data, make([]byte, -len(w.data)&(alignment-1))...)
	at := int64(len(w.data))
	w.data = append(w.data, v.Const.Bytes()...)
	return at
}

// node writes the step of a node or of a composite.
func (w *writer) node(n *graph.Node) error {
	nodes, result := []*graph.Node{n}, n.Out[0]
	if n.Op == graph.Composite {
		sub := n.Sub[0]
		for i, v := range sub.Inputs {
			w.tensors[v] = w.tensor(n.In[i])
		}
		nodes = sub.Nodes
	}
	switch nodes[0].Op.Name {
	case "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.dense", "nn.matmul":
		return w.product(nodes, result)
	}
	s, err := rows[n.Op.Name](n)
	if err != nil {
		return err
	}
	for _, v := range operandsOf(n) {
		s.Operands = append(s.Operands, w.tensor(v))
	}
	if s.Kind == "avg_pool" && result.Type.Rank() != n.In[0].Type.Rank() { // a mean whose axes are not kept
		shape := integers(n.In[0].Type.Shape)
		for i := range shape[2:] {
			shape[i+2] = 1
		}
		s.Result = w.add(nil, dnnl.Tensor{Shape: shape})
		w.program.Steps = append(w.program.Steps, s)
		s = dnnl.Step{Kind: "reshape", Operands: []int{s.Result}}
	}
	s.Result = w.tensor(result)
	w.program.Steps = append(w.program.Steps, s)
	return nil
}

func (w *writer) product(nodes []*graph.Node, result *graph.Value) error {
	p, err := productOf(nodes)
	if err != nil {
		return err
	}
	s := p.Step
	for _, v := range p.operands {
		s.Operands = append(s.Operands, w.tensor(v))
	}
	if p.bias != nil {
		s.Operands = append(s.Operands, w.bias(p.bias))
	}
	if p.sum != nil {
		s.Operands = append(s.Operands, w.tensor(p.sum))
	}
	s.Result = w.tensor(result)
	w.program.Steps = append(w.program.Steps, s)
	return nil
}

// bias is a constant as a list of numbers.
func (w *writer) bias(v *graph.Value) int {
	if v.Type.Rank() == 1 || !v.IsConst() {
		return w.tensor(v)
	}
	flat := *v.Const
	flat.Shape = []int{v.Type.Elements()}
	return w.tensor(&graph.Value{Type: types.Of(types.F32, flat.Shape...), Const: &flat})
}
