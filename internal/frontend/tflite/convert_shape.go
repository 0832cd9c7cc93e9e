package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// shapeRows are the operators whose results are shapes, and those that make values of a shape.
var shapeRows = []row{
	{"SHAPE", one(shape)}, {"RANK", shared(tfops.Rank)}, {"FILL", shared(tfops.Fill)}, {"RANGE", shared(tfops.Range)}, {"BROADCAST_ARGS", one(broadcastArgs)},
}

func shape(c *call) *graph.Value {
	c.Ignore("out_type")
	return c.Cast(compose.Ints(c.Shape(0)...), c.resultType())
}

// resultType is the element type that the file gives result 0.
func (c *call) resultType() types.DType {
	d, err := c.to(0).elem.dtype()
	if err != nil {
		compose.Fail("%w", err)
	}
	return d
}

func broadcastArgs(c *call) *graph.Value {
	a, b := c.KnownInts(0, "a shape"), c.KnownInts(1, "a shape")
	return c.Cast(compose.Ints(compose.BroadcastShape(a, b)...), c.resultType())
}
