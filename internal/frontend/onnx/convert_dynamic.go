package onnx

import (
	"fmt"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// dynamicRows are the operators whose results have as many elements as the data decide.
var dynamicRows = []row{
	{"Compress", "", 9, one(compressData)}, {"NonZero", "", 9, one(findNonZero)}, {"NonMaxSuppression", "", 10, one(nonMaxSuppression)},
}

func compressData(c *call) *graph.Value {
	if c.x(1).Value() != nil {
		return compress(c)
	}
	x, at := c.x(0), 0
	if c.has("axis") {
		at = axis(c.attrInt("axis", 0), x.Type.Rank())
	} else {
		x = c.Reshape(x, x.Type.Elements())
	}
	return c.Apply(ops.Compress, ops.CompressAttrs{Axis: at}, x, c.x(1))
}

// findNonZero takes a scalar as a vector of one element, as ONNX Runtime does: the coordinates have one row.
func findNonZero(c *call) *graph.Value {
	x := c.x(0)
	if x.Type.Rank() == 0 {
		x = c.Reshape(x, 1)
	}
	if t := x.Value(); t != nil {
		return nonZero(t)
	}
	return c.Transpose(c.Do(ops.ArgWhere, x), 1, 0)
}

func nonMaxSuppression(c *call) *graph.Value {
	a := ops.NMSAttrs{CenterPoint: c.attrBool("center_point_box", false), UseScore: c.present(4)}
	if c.present(2) {
		a.MaxOutput = c.knownInt(2, "max_output_boxes_per_class")
	}
	if c.present(3) {
		a.IOUThreshold = c.knownFloat(3, "iou_threshold")
	}
	if c.present(4) {
		a.ScoreThreshold = c.knownFloat(4, "score_threshold")
	}
	return c.Apply(ops.AllClassNMS, a, c.x(0), c.x(1))
}

// takesDynamic lists the operators that are converted without a look at extents: only these may read a value whose
// extent depends on data. Whether what they become is right for such a value is checked on the graph.
var takesDynamic = []string{
	"Abs", "Add", "And", "Cast", "Ceil", "Div", "Equal", "Exp", "Floor", "Gather", "GatherND", "Greater", "GreaterOrEqual",
	"Identity", "Less", "LessOrEqual", "Log", "Mul", "Neg", "Not", "Or", "Relu", "Round", "Sigmoid", "Slice", "Sqrt", "Squeeze",
	"Sub", "Tanh", "Transpose", "Unsqueeze", "Where",
}

// dynamics are the values that depend on one whose extent depends on data, among the results of the first nodes, which were seen, of each graph.
type dynamics struct {
	seen   map[*graph.Graph]int
	values map[*graph.Value]bool
}

// checkDynamic reports an operand of n that may have an extent that depends on data, unless n takes such operands.
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
		if v != nil && d.values[v] && (n.Domain != "" || !slices.Contains(takesDynamic, n.OpType)) {
			return fmt.Errorf("the extent of operand %q depends on data, which is not supported here (as a model output it is)", n.Inputs[i])
		}
	}
	return nil
}

// checkExtents reports the first node that reads a value whose extent depends on data and cannot. It notes where the other
// extents of the outputs are not those that the model declares.
func (imp *importer) checkExtents(outputs []ValueInfo) error {
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
