package tflite

import (
	"lathe/internal/compose"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// blockRows are the operators that bring blocks of an image to channels or to the batch and back, and those that spread its elements.
var blockRows = []row{
	{"SPACE_TO_DEPTH", moved(one(spaceToDepth))}, {"DEPTH_TO_SPACE", moved(one(depthToSpace))},
	{"SPACE_TO_BATCH_ND", moved(one(func(c *call) *graph.Value { return tfops.SpaceToBatch(c.Call, c.zero()) }))}, {"BATCH_TO_SPACE_ND", moved(shared(tfops.BatchToSpace))}, {"DILATE", moved(one(dilate))},
}

func spaceToDepth(c *call) *graph.Value {
	return c.last(c.Apply(ops.SpaceToDepth, ops.DepthSpaceAttrs{BlockSize: c.Int("block_size", 0), Mode: "DCR"}, c.first(c.X(0))))
}

func depthToSpace(c *call) *graph.Value {
	return c.last(c.Apply(ops.DepthToSpace, ops.DepthSpaceAttrs{BlockSize: c.Int("block_size", 0), Mode: "DCR"}, c.first(c.X(0))))
}

// dilate puts values between the elements of each axis.
func dilate(c *call) *graph.Value {
	x, steps, value := c.X(0), c.KnownInts(1, "the dilations"), c.Known(2, "the padding value")
	if len(steps) != x.Type.Rank() || value.Len() != 1 {
		compose.Fail("dilations %v of %s, with %d padding values", steps, x.Type, value.Len())
	}
	for axis, step := range steps {
		if step < 1 || step > types.MaxElements {
			compose.Fail("dilations %v", steps)
		}
		x = c.spread(x, axis, step, value.Float(0))
	}
	return x
}
