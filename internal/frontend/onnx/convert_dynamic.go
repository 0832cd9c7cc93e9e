package onnx

import (
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

// dynamicRows are the operators whose results have as many elements as the data decide.
var dynamicRows = []row{
	{"Compress", "", 9, one(compressData)}, {"NonZero", "", 9, one(findNonZero)}, {"NonMaxSuppression", "", 10, one(nonMaxSuppression)},
}

func compressData(c *call) *graph.Value {
	if c.X(1).Value() != nil {
		return compress(c)
	}
	x, at := c.X(0), 0
	if c.Has("axis") {
		at = frontend.Axis(c.Int("axis", 0), x.Type.Rank())
	} else {
		x = c.Reshape(x, x.Type.Elements())
	}
	return c.Apply(ops.Compress, ops.CompressAttrs{Axis: at}, x, c.X(1))
}

// findNonZero takes a scalar as a vector of one element, as ONNX Runtime does: the coordinates have one row.
func findNonZero(c *call) *graph.Value {
	x := c.X(0)
	if x.Type.Rank() == 0 {
		x = c.Reshape(x, 1)
	}
	if t := x.Value(); t != nil {
		return nonZero(t)
	}
	return c.Transpose(c.Do(ops.ArgWhere, x), 1, 0)
}

func nonMaxSuppression(c *call) *graph.Value {
	a := ops.NMSAttrs{CenterPoint: c.Bool("center_point_box", false), UseScore: c.Present(4)}
	if c.Present(2) {
		a.MaxOutput = c.KnownInt(2, "max_output_boxes_per_class")
	}
	if c.Present(3) {
		a.IOUThreshold = c.KnownFloat(3, "iou_threshold")
	}
	if c.Present(4) {
		a.ScoreThreshold = c.KnownFloat(4, "score_threshold")
	}
	return c.Apply(ops.AllClassNMS, a, c.X(0), c.X(1))
}

// takesDynamic lists the operators that are converted without a look at extents: only these may read a value whose
// extent depends on data. Whether what they become is right for such a value is checked on the graph.
var takesDynamic = []string{
	"Abs", "Add", "And", "Cast", "Ceil", "Clip", "Concat", "Div", "Equal", "Exp", "Floor", "Gather", "GatherND", "Greater", "GreaterOrEqual",
	"Identity", "Less", "LessOrEqual", "Log", "Max", "Min", "Mul", "Neg", "Not", "Or", "Pow", "Relu", "Round", "Sigmoid", "Sign",
	"Slice", "Sqrt", "Squeeze", "Sub", "Tanh", "Transpose", "Unsqueeze", "Where",
}
