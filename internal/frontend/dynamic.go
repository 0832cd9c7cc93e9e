package frontend

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
)

// dynamics are the values that depend on one whose extent depends on data, among the results of the first nodes, which were seen, of each graph.
type dynamics struct {
	seen   map[*graph.Graph]int
	values map[*graph.Value]bool
}

// checkDynamic reports an operand of n that may have an extent that depends on data, unless n takes such operands: whether what
// it becomes is right for them is checked on the graph.
func (imp *importer) checkDynamic(n *Node, operands []*graph.Value) error {
	d, g := &imp.dynamic, imp.Graph
	if d.seen == nil {
		d.seen = map[*graph.Graph]int{}
	}
	for ; d.seen[g] < len(g.Nodes); d.seen[g]++ {
		m := g.Nodes[d.seen[g]]
		var results []*graph.Value
		for _, r := range compose.DynamicResults(m) {
			results = append(results, m.Out[r.Result])
		}
		if slices.ContainsFunc(m.In, func(v *graph.Value) bool { return d.values[v] }) {
			results = m.Out
		}
		for _, v := range results {
			if d.values == nil {
				d.values = map[*graph.Value]bool{}
			}
			d.values[v] = true
		}
	}
	for i, v := range operands {
		if v != nil && d.values[v] && !imp.table.dynamic[operator{n.Domain, n.Op}] {
			return fmt.Errorf("the extent of operand %q depends on data, which is not supported here (as a model output it is)", n.In[i])
		}
	}
	return nil
}

// checkExtents reports the first node that reads a value whose extent depends on data and cannot. It notes where the other
// extents of the outputs are not those that the model declares.
func (imp *importer) checkExtents(outputs []Info) error {
	x, err := compose.ExtentsOf(imp.Graph)
	if err != nil {
		return err
	}
	for i, v := range imp.Graph.Outputs {
		shape := slices.Clone(v.Type.Shape)
		for k, count := range x[v] {
			if count != nil {
				shape[k] = -1
			}
		}
		if note := imp.shapes.checkOutput(outputs[i], shape); note != "" {
			imp.note(note)
		}
	}
	return nil
}
