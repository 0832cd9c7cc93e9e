package compile

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// dynamicOutputs prepares the outputs whose extents depend on data. The values that hold the extents become outputs of
// their own behind the model's; their memory is the run context's symbols, of which each axis of an output has an index. An output whose actual extent is not that of
// its outermost axis is packed, for the caller reads a dense tensor.
func dynamicOutputs(g *graph.Graph) (symbols [][]int, err error) {
	extents, err := compose.ExtentsOf(g)
	if err != nil {
		return nil, err
	}
	symbols = make([][]int, len(g.Outputs))
	place := map[*graph.Value]int{}
	var counts []*graph.Value
	for i, o := range g.Outputs {
		axes := extents[o]
		for k, count := range axes {
			if count == nil {
				continue
			}
			if symbols[i] != nil {
				return nil, fmt.Errorf("output %q has several extents that depend on data, which is not supported", o.Name)
			}
			if _, ok := place[count]; !ok {
				place[count] = len(counts)
				counts = append(counts, count)
			}
			symbols[i] = make([]int, len(axes))
			for j := range axes {
				symbols[i][j] = -1
			}
			symbols[i][k] = place[count]
			if types.Count(o.Type.Shape[:k]) > 1 {
				if err := packOutput(g, i, k, count); err != nil {
					return nil, err
				}
			}
		}
	}
	for i, count := range counts {
		if slices.Contains(g.Outputs, count) {
			n, err := g.Apply(ops.Copy, op.None{}, count)
			if err != nil {
				return nil, err
			}
			count = n.Out[0]
		}
		count.Name = freshName(g, fmt.Sprintf("extent%d", i))
		g.Outputs = append(g.Outputs, count)
	}
	return symbols, nil
}

// freshName is a name that no input, output or node result of the graph has.
func freshName(g *graph.Graph, name string) string {
	taken := map[string]bool{}
	for _, v := range slices.Concat(g.Inputs, g.Outputs) {
		taken[v.Name] = true
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			taken[v.Name] = true
		}
	}
	return uniqueName(taken, name, "")
}

func packOutput(g *graph.Graph, i, axis int, count *graph.Value) error {
	o := g.Outputs[i]
	n, err := g.Apply(ops.DynamicPack, ops.PackAttrs{Axis: axis}, o, count)
	if err != nil {
		return err
	}
	if o.Def != nil {
		n.Origin = o.Def.Origin
	}
	n.Out[0].Name, o.Name = o.Name, ""
	g.Outputs[i] = n.Out[0]
	return nil
}
