package coreml

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
)

var reduceRows = slices.Concat([]row{
	{280, "reduce", "mode:1 epsilon:2f axis:3", one(reduce)},
	{1455, "cumSum", "axis:1 excludeFinalSum:2 reverse:3", one(func(c *call) *graph.Value {
		return c.Apply(ops.CumSum, ops.CumulativeAttrs{Axis: c.axis("axis", 0), Exclusive: c.Bool("excludeFinalSum", false), Reverse: c.Bool("reverse", false)}, c.X(0))
	})},
	{1461, "argSort", "axis:1 descending:2", one(func(c *call) *graph.Value {
		axis := c.axis("axis", 0)
		return c.number(c.Results(ops.TopK, ops.TopKAttrs{K: c.Shape(0)[axis], Axis: axis, Largest: c.Bool("descending", false)}, c.X(0))[1])
	})},
	{1015, "topK", "axis:1 k:2 bottom:3", topK}, {1020, "argMin", "axis:1 removeDim:2", one(arg(ops.ArgMin))}, {1025, "argMax", "axis:1 removeDim:2", one(arg(ops.ArgMax))},
}, reductions())

// kinds are the reductions, in the order of the modes of the layer reduce.
var kinds = []struct {
	number int
	name   string
	f      func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value
}{
	{1270, "reduceSum", plain(ops.Sum)}, {1280, "reduceMean", plain(ops.Mean)}, {1275, "reduceProd", plain(ops.Prod)},
	{1285, "reduceLogSum", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.Log(c.Reduce(ops.Sum, x, keep, axes...))
	}},
	{1290, "reduceSumSquare", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.SumSquare(x, keep, axes...)
	}},
	{1250, "reduceL1", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.LpNorm(x, 1, keep, axes...)
	}},
	{1255, "reduceL2", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.LpNorm(x, 2, keep, axes...)
	}},
	{1260, "reduceMax", plain(ops.Max)}, {1265, "reduceMin", plain(ops.Min)},
	{1295, "reduceLogSumExp", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.LogSumExp(x, keep, axes...)
	}},
}

func plain(d *op.Def) func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
	return func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.Reduce(d, x, keep, axes...)
	}
}

func reductions() (rows []row) {
	for _, k := range kinds {
		rows = append(rows, row{k.number, k.name, "axes:1s keepDims:2 reduceAll:3", one(func(c *call) *graph.Value {
			axes := frontend.Axes(c.Ints("axes"), c.Rank(0))
			if c.Bool("reduceAll", false) {
				axes = nil
			}
			y := k.f(c, c.X(0), c.Bool("keepDims", false), axes)
			if y.Type.Rank() == 0 {
				y = c.Reshape(y, 1)
			}
			return y
		})})
	}
	return rows
}

// reduce keeps its axes. A sum of logarithms is of x + epsilon.
func reduce(c *call) *graph.Value {
	const logSum, argMax = 3, 9
	x, r := c.X(0), c.Rank(0)
	axes := map[int][]int{0: {-3, -2, -1}, 1: {-2, -1}, 2: {-3}, 3: {-2}, 4: {-1}}[c.Int("axis", 0)]
	if axes == nil {
		compose.Fail("axis %d", c.Int("axis", 0))
	}
	axes = frontend.Axes(axes, r)
	epsilon := c.positive("epsilon", 1e-6)
	switch mode := c.Int("mode", 0); {
	case mode == logSum:
		return c.Reduce(ops.Sum, c.Log(c.plus(x, epsilon)), true, axes...)
	case mode == argMax && len(axes) == 1:
		return c.number(c.Apply(ops.ArgMax, ops.ArgAttrs{Axis: axes[0], KeepDims: true}, x))
	case mode < 0 || mode >= argMax:
		compose.Fail("mode %d is not supported", mode)
		return nil
	default:
		return kinds[mode].f(c, x, true, axes)
	}
}

func arg(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		keep := !c.Bool("removeDim", false) || c.Rank(0) == 1
		return c.number(c.Apply(d, ops.ArgAttrs{Axis: c.axis("axis", 0), KeepDims: keep}, c.X(0)))
	}
}

func topK(c *call) values {
	k := c.Int("k", 0)
	if c.data > 1 {
		k = int(c.KnownFloat(1, "k"))
	}
	out := c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: c.axis("axis", 0), Largest: !c.Bool("bottom", false)}, c.X(0))
	return values{out[0], c.number(out[1])}
}
