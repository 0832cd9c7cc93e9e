package compile

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// dynamicOutputs prepares the outputs whose extents depend on data. The values that hold the extents become outputs of
// their own behind the model's; their memory is the run context's symbols. An output whose actual extent is not that of
// its outermost axis is packed, for the caller reads a dense tensor.
func (c *compiler) dynamicOutputs() error {
	extents, err := compose.ExtentsOf(c.graph)
	if err != nil {
		return err
	}
	c.symbols = make([][]int, len(c.graph.Outputs))
	place := map[*graph.Value]int{}
	var counts []*graph.Value
	for i, o := range c.graph.Outputs {
		axes := extents[o]
		for k, count := range axes {
			if count == nil {
				continue
			}
			if c.symbols[i] != nil {
				return fmt.Errorf("output %q has several extents that depend on data, which is not supported", o.Name)
			}
			if _, ok := place[count]; !ok {
				place[count] = len(counts)
				counts = append(counts, count)
			}
			c.symbols[i] = make([]int, len(axes))
			for j := range axes {
				c.symbols[i][j] = -1
			}
			c.symbols[i][k] = place[count]
			if types.Count(o.Type.Shape[:k]) > 1 {
				if err := c.packOutput(i, k, count); err != nil {
					return err
				}
			}
		}
	}
	for i, count := range counts {
		if slices.Contains(c.graph.Outputs, count) {
			n, err := c.graph.Apply(ops.Copy, op.None{}, count)
			if err != nil {
				return err
			}
			count = n.Out[0]
		}
		count.Name = c.freshName(fmt.Sprintf("extent%d", i))
		c.graph.Outputs = append(c.graph.Outputs, count)
	}
	return nil
}

// freshName is a name that no input, output or node result of the graph has.
func (c *compiler) freshName(name string) string {
	taken := map[string]bool{}
	for _, v := range slices.Concat(c.graph.Inputs, c.graph.Outputs) {
		taken[v.Name] = true
	}
	for _, n := range c.graph.Nodes {
		for _, v := range n.Out {
			taken[v.Name] = true
		}
	}
	return uniqueName(taken, name, "")
}

func (c *compiler) packOutput(i, axis int, count *graph.Value) error {
	o := c.graph.Outputs[i]
	n, err := c.graph.Apply(ops.DynamicPack, ops.PackAttrs{Axis: axis}, o, count)
	if err != nil {
		return err
	}
	if o.Def != nil {
		n.Origin = o.Def.Origin
	}
	n.Out[0].Name, o.Name = o.Name, ""
	c.graph.Outputs[i] = n.Out[0]
	return nil
}

// outputs are the model's outputs, without the extents that stand behind them.
func (c *compiler) outputs() []*graph.Value { return c.graph.Outputs[:len(c.symbols)] }

// Actual cuts reference values to their actual extents, for comparison with the outputs of a compiled model. value gives
// the reference value of an extent.
func Actual(want *tensor.Tensor, axes []*graph.Value, value func(*graph.Value) *tensor.Tensor) *tensor.Tensor {
	for k, count := range axes {
		if count == nil {
			continue
		}
		shape := append([]int{}, want.Shape...)
		shape[k] = int(value(count).Int(0))
		cut := tensor.New(want.DType, shape...)
		row := types.Count(want.Shape[k+1:]) * want.DType.Size()
		for o := range types.Count(want.Shape[:k]) {
			copy(cut.Data[o*shape[k]*row:(o+1)*shape[k]*row], want.Data[o*want.Shape[k]*row:])
		}
		want = cut
	}
	return want
}

// actualResult is result i of a node cut to its actual extent; out are all results.
func actualResult(n *graph.Node, out []*tensor.Tensor, i int) *tensor.Tensor {
	axes := make([]*graph.Value, len(out[i].Shape))
	for _, d := range ops.DynamicResults(n.Op, n.Attrs) {
		if d.Result == i {
			axes[d.Axis] = n.Out[d.Count]
		}
	}
	return Actual(out[i], axes, func(v *graph.Value) *tensor.Tensor { return out[v.Index] })
}
