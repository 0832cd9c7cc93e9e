package mxnet

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// makeRows make elements by rule.
var makeRows = []row{
	{"one_hot", oneHot}, {"_npx_one_hot", oneHot},
	{"zeros_like", like(0)}, {"ones_like", like(1)}, {"_zeros", filled(0)}, {"_ones", filled(1)}, {"_npi_zeros", filled(0)}, {"_npi_ones", filled(1)},
	{"_full", func(c *call) *graph.Value { return filled(c.Float("value", 0))(c) }}, {"_arange", arange}, {"_npi_arange", arange}, {"_contrib_arange_like", arangeLike},
}

func like(v float64) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.Ignore("dtype")
		return c.Full(c.X(0).Type.DType, v, c.Shape(0)...)
	}
}

func filled(v float64) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.Ignore("ctx")
		return c.Full(c.DType("dtype", types.F32), v, c.Ints("shape")...)
	}
}

func arange(c *call) *graph.Value {
	c.Ignore("ctx", "infer_range")
	start, step, each := c.Float("start", 0), c.Float("step", 1), c.Int("repeat", 1)
	stop := c.Float("stop", start)
	if !c.Has("stop") {
		start, stop = 0, start
	}
	const most = 1 << 24
	if step == 0 || each < 1 || (stop-start)/step > most || each > most {
		compose.Fail("numbers from %v to %v by %v", start, stop, step)
	}
	var list []float64
	for v := start; step > 0 && v < stop || step < 0 && v > stop; v = start + step*float64(len(list)/each) {
		list = append(list, slices.Repeat([]float64{v}, each)...)
	}
	return c.series(c.DType("dtype", types.F32), list)
}

func (c *call) series(d types.DType, list []float64) *graph.Value {
	t := c.Zeros(d, len(list))
	for i, v := range list {
		t.SetFloat(i, v)
	}
	return compose.Const(t)
}

// arangeLike counts along an axis of the operand, or in all of its shape.
func arangeLike(c *call) *graph.Value {
	c.Ignore("ctx")
	start, step := c.Float("start", 0), c.Float("step", 1)
	if c.Int("repeat", 1) != 1 {
		compose.Fail("repeat %d is not supported", c.Int("repeat", 1))
	}
	shape := c.Shape(0)
	if c.Has("axis") {
		shape = []int{shape[frontend.Axis(c.Int("axis", 0), len(shape))]}
	}
	list := make([]float64, min(types.Count(shape), 1<<24))
	for i := range list {
		list[i] = start + step*float64(i)
	}
	return c.Reshape(c.series(c.X(0).Type.DType, list), shape...)
}

func oneHot(c *call) *graph.Value {
	d := c.DType("dtype", types.F32)
	return c.Apply(ops.OneHot, ops.OneHotAttrs{Depth: c.Int("depth", 0), Axis: c.Rank(0)}, c.Cast(c.X(0), types.I64), compose.Number(d, c.Float("on_value", 1)), compose.Number(d, c.Float("off_value", 0)))
}
