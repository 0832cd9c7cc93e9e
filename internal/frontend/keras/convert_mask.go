package keras

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
)

var maskRows = []row{
	{"Masking", one(masking)}, {maskOfSteps, one(stepsMask)}, {maskOfIndices, one(indicesMask)}, {maskOfAll, one(allMask)}, {maskOfParts, one(partsMask)},
}

// mask is the mask of data operand i, or nil.
func (c *call) mask(i int) *graph.Value {
	at, ok := c.masks[i]
	if !ok {
		return nil
	}
	return c.truth(c.X(at))
}

// stepsMask is where some feature of a step is not mask_value.
func stepsMask(c *call) *graph.Value {
	x := c.X(0)
	c.WantRank(0, 2)
	return c.Reduce(ops.Any, c.Do(ops.NotEqual, x, compose.Like(x, c.Float("mask_value", 0))), false, x.Type.Rank()-1)
}

// masking makes masked steps zero.
func masking(c *call) *graph.Value {
	x := c.X(0)
	return c.Do(ops.Where, c.ExpandDims(stepsMask(c), x.Type.Rank()-1), x, compose.Like(x, 0))
}

func indicesMask(c *call) *graph.Value { return c.Do(ops.NotEqual, c.X(0), compose.Like(c.X(0), 0)) }

func allMask(c *call) *graph.Value { return c.Fold(ops.LogicalAnd, c.inputs()...) }

// partsMask joins masks along their axes; of parts that are joined along others, all must count.
func partsMask(c *call) *graph.Value {
	in, masked := c.inputs(), c.Ints("masked")
	data := in[:len(in)-len(masked)]
	axis := frontend.Axis(c.Int("axis", -1), data[0].Type.Rank())
	masks := in[len(data):]
	rank := masks[0].Type.Rank()
	if axis >= rank {
		return c.Fold(ops.LogicalAnd, masks...)
	}
	parts := make(values, len(data))
	for i, x := range data {
		parts[i] = c.Full(masks[0].Type.DType, 1, x.Type.Shape[:rank]...)
	}
	for k, i := range masked {
		parts[i] = masks[k]
	}
	return c.Concat(axis, parts...)
}
