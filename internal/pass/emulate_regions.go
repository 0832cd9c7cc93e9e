package pass

import (
	"errors"
	"fmt"
	"slices"

	"lathe/internal/byoc"
	"lathe/internal/graph"
	"lathe/internal/graph/rewrite"
	"lathe/internal/op"
	"lathe/internal/ops"
)

// emulateRegions puts what a generator emulates a region by in its place: nodes that compute what its device would, or, before a
// calibration, the region itself with the values that one must see, which become outputs of the network behind the model's own.
//
//	%1 = external(%x) {compiler="vitis-ai"}   →   %1 = qnn.quantize(%x) ... qnn.dequantize(...)
func emulateRegions(c *Context) error {
	if c.nested || len(c.Codegens) == 0 {
		return nil
	}
	var taps []*graph.Value
	behind := len(c.Graph.Outputs)
	if c.Outputs > 0 {
		behind = c.Outputs
	}
	found := map[*graph.Node]*Emulated{}
	for _, n := range c.Graph.Nodes {
		a, ok := n.Attrs.(graph.ExternalAttrs)
		if !ok || c.codegen(a.Compiler).Emulate == nil {
			continue
		}
		e, err := c.emulation(n, a)
		if err != nil {
			return err
		}
		found[n] = e
		c.Emulations = append(c.Emulations, *e)
		c.Regions = slices.DeleteFunc(c.Regions, func(o Region) bool { return o.Symbol == a.Symbol })
	}
	return rewrite.Walk(c.Graph, func(r *rewrite.Rewriter, n *graph.Node) {
		e := found[n]
		if e == nil {
			return
		}
		operands := n.In
		for i, v := range r.Inline(e.Graph, operands) {
			r.Replace(n.Out[i], v)
		}
		for i, t := range e.Taps {
			v := t.Value
			if k := slices.Index(e.Graph.Inputs, v); k >= 0 {
				v = operands[k]
			}
			if v.Def == nil || r.IsOutput(v) || slices.Contains(taps, v) { // an output is a value of its own
				v = r.Apply(ops.Copy, op.None{}, v)
			}
			v.Name = fmt.Sprintf("%s tap %d", e.Symbol, i)
			taps = append(taps, v)
			c.Graph.Outputs = slices.Insert(c.Graph.Outputs, behind+len(taps)-1, v)
		}
	})
}

// An Emulated is what stands for a region.
type Emulated struct {
	Generator, Symbol string
	byoc.Emulation
}

func (c *Context) emulation(n *graph.Node, a graph.ExternalAttrs) (*Emulated, error) {
	gen := c.codegen(a.Compiler)
	region := c.region(n, a)
	e, err := gen.Emulate(region, gen.Given)
	if err == nil {
		err = sameBoundary(region.Graph, e)
	}
	if err != nil {
		return nil, fmt.Errorf("region %s of %s: %w", a.Symbol, a.Compiler, err)
	}
	return &Emulated{a.Compiler, a.Symbol, e}, nil
}

// sameBoundary holds an emulation to the region's inputs and outputs.
func sameBoundary(region *graph.Graph, e byoc.Emulation) error {
	if len(e.Graph.Outputs) != len(region.Outputs) || len(e.Graph.Inputs) != len(region.Inputs) {
		return errors.New("its emulation has other inputs or outputs")
	}
	for i, v := range region.Inputs {
		if !e.Graph.Inputs[i].Type.Equal(v.Type) {
			return fmt.Errorf("input %d of its emulation is %s instead of %s", i, e.Graph.Inputs[i].Type, v.Type)
		}
	}
	for i, v := range region.Outputs {
		if !e.Graph.Outputs[i].Type.Equal(v.Type) {
			return fmt.Errorf("output %d of its emulation is %s instead of %s", i, e.Graph.Outputs[i].Type, v.Type)
		}
	}
	return graph.Verify(e.Graph)
}
