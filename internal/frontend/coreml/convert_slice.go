package coreml

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
)

var sliceRows = []row{
	{330, "split", "nOutputs:1", split}, {975, "splitND", "axis:1 numSplits:2 splitSizes:3s", splitND},
	{350, "slice", "startIndex:1 endIndex:2 stride:3 axis:4", one(slice)},
	{995, "sliceStatic", "beginIds:1s beginMasks:2s endIds:3s endMasks:4s strides:5s squeezeMasks:6s", one(sliceStatic)},
	{960, "reverse", "reverseDim:1s", one(reverse)},
}

func split(c *call) values {
	n, axis := c.Int("nOutputs", len(c.Node.Out)), frontend.Axis(-3, c.Rank(0))
	return c.parts(axis, n, nil)
}

func splitND(c *call) values {
	return c.parts(c.axis("axis", 0), c.Int("numSplits", len(c.Node.Out)), c.Ints("splitSizes"))
}

func (c *call) parts(axis, n int, sizes []int) values {
	if len(sizes) == 0 {
		return c.SplitEven(c.X(0), axis, n)
	}
	return c.Split(c.X(0), axis, sizes...)
}

// slice is of one of the last three axes; an end of 0 is that of the axis.
func slice(c *call) *graph.Value {
	axis := frontend.Axis(c.Int("axis", 0)-3, c.Rank(0))
	end := c.Int("endIndex", 0)
	return c.section(c.X(0), axis, c.Int("startIndex", 0), end, max(1, c.Int("stride", 1)), false, end == 0)
}

// section is the elements of an axis from begin to end by a step; a mask stands for the end of the axis in that direction.
func (c *call) section(x *graph.Value, axis, begin, end, step int, maskBegin, maskEnd bool) *graph.Value {
	return c.Ranges(x, []int{axis}, []compose.Range{{Begin: begin, End: end, Step: step, NoBegin: maskBegin, NoEnd: maskEnd}})
}

func sliceStatic(c *call) *graph.Value {
	x, r := c.X(0), c.Rank(0)
	begins, ends, strides := c.Ints("beginIds"), c.Ints("endIds"), c.IntsOr("strides", r, 1)
	maskBegin, maskEnd, drop := c.IntsOr("beginMasks", r, 0), c.IntsOr("endMasks", r, 0), c.IntsOr("squeezeMasks", r, 0)
	if len(begins) != r || len(ends) != r {
		compose.Fail("of %s from %v to %v", x.Type, begins, ends)
	}
	var gone []int
	for k := range r {
		if drop[k] != 0 {
			gone = append(gone, k)
			ends[k], strides[k] = begins[k]+1, 1
			maskEnd[k] = 0
			if begins[k] == -1 {
				maskEnd[k] = 1
			}
		}
		x = c.section(x, k, begins[k], ends[k], strides[k], maskBegin[k] != 0, maskEnd[k] != 0)
	}
	if len(gone) > 0 {
		x = c.DropAxes(x, gone...)
	}
	return x
}

func reverse(c *call) *graph.Value {
	var axes []int
	for k, yes := range c.Ints("reverseDim") {
		if yes != 0 {
			axes = append(axes, k)
		}
	}
	return c.Reverse(c.X(0), axes...)
}
