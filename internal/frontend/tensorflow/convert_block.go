package tensorflow

import (
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var blockRows = []row{
	{"SpaceToDepth", one(spaceToDepth)}, {"DepthToSpace", one(depthToSpace)},
	{"SpaceToBatchND", one(spaceToBatch)}, {"SpaceToBatch", one(spaceToBatch)}, {"BatchToSpaceND", shared(tfops.BatchToSpace)}, {"BatchToSpace", shared(tfops.BatchToSpace)},
}

func spaceToDepth(c *call) *graph.Value {
	return c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		return c.Apply(ops.SpaceToDepth, ops.DepthSpaceAttrs{BlockSize: c.Int("block_size", 0), Mode: "DCR"}, x)
	})
}

func depthToSpace(c *call) *graph.Value {
	return c.overChannels(c.X(0), func(x *graph.Value) *graph.Value {
		return c.Apply(ops.DepthToSpace, ops.DepthSpaceAttrs{BlockSize: c.Int("block_size", 0), Mode: "DCR"}, x)
	})
}

func spaceToBatch(c *call) *graph.Value { return tfops.SpaceToBatch(c.Call, 0) }
