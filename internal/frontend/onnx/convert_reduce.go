package onnx

import (
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var reduceRows = []row{
	{"ReduceSum", "", 1, reduce(plainReduction(ops.Sum))}, {"ReduceMean", "", 1, reduce(plainReduction(ops.Mean))},
	{"ReduceProd", "", 1, reduce(plainReduction(ops.Prod))},
	{"ReduceMax", "", 1, reduce(orReduction(ops.Max, ops.Any))}, {"ReduceMin", "", 1, reduce(orReduction(ops.Min, ops.AllOf))},
	{"ReduceL1", "", 1, reduce(reduceL1)}, {"ReduceL2", "", 1, reduce(reduceL2)}, {"ReduceSumSquare", "", 1, reduce(reduceSumSquare)},
	{"ReduceLogSum", "", 1, reduce(reduceLogSum)}, {"ReduceLogSumExp", "", 1, reduce(reduceLogSumExp)},
	{"ArgMax", "", 1, one(arg(ops.ArgMax))}, {"ArgMin", "", 1, one(arg(ops.ArgMin))},
	{"CumSum", "", 11, one(cumulative(ops.CumSum))}, {"CumProd", "", 26, one(cumulative(ops.CumProd))},
}

// A reduction folds x along axes; no axes means all.
type reduction func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value

// reduce reads axes, which newer versions have as operand 1, and keepdims.
func reduce(f reduction) func(c *call) values {
	return func(c *call) values {
		x := c.X(0)
		list := frontend.Axes(c.IntsFrom("axes", 1), x.Type.Rank())
		keep, noop := c.Bool("keepdims", true), c.Bool("noop_with_empty_axes", false)
		if len(list) == 0 && noop {
			list = nil
			// Reducing over an axis of extent 1 applies what the reduction does to single elements.
			x = c.ExpandDims(x, x.Type.Rank())
			return values{f(c, x, false, []int{x.Type.Rank() - 1})}
		}
		return values{f(c, x, keep, list)}
	}
}

func plainReduction(d *op.Def) reduction {
	return func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.Reduce(d, x, keep, axes...)
	}
}

// orReduction takes another operator for bool.
func orReduction(d, logical *op.Def) reduction {
	return func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		if x.Type.DType == types.Bool {
			return c.Reduce(logical, x, keep, axes...)
		}
		return c.Reduce(d, x, keep, axes...)
	}
}

func reduceL1(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
	return c.LpNorm(x, 1, keep, axes...)
}

func reduceL2(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
	return c.LpNorm(x, 2, keep, axes...)
}

func reduceSumSquare(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
	return c.SumSquare(x, keep, axes...)
}

func reduceLogSum(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
	return c.Log(c.Reduce(ops.Sum, x, keep, axes...))
}

func reduceLogSumExp(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
	if t := x.Type.DType; !t.IsFloat() {
		return c.Cast(c.LogSumExp(c.Cast(x, types.F64), keep, axes...), t)
	}
	return c.LogSumExp(x, keep, axes...)
}

func arg(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		return c.Apply(d, ops.ArgAttrs{Axis: frontend.Axis(c.Int("axis", 0), c.Rank(0)), KeepDims: c.Bool("keepdims", true),
			SelectLastIndex: c.Bool("select_last_index", false)}, c.X(0))
	}
}

func cumulative(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		return c.Apply(d, ops.CumulativeAttrs{Axis: frontend.Axis(c.KnownInt(1, "axis"), c.Rank(0)),
			Exclusive: c.Bool("exclusive", false), Reverse: c.Bool("reverse", false)}, c.X(0))
	}
}
