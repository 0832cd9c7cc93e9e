package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/frontend/tfops"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var reduceRows = []row{
	{"Sum", shared(tfops.Reduce(ops.Sum))}, {"Mean", one(mean)}, {"Prod", shared(tfops.Reduce(ops.Prod))}, {"Max", shared(tfops.Reduce(ops.Max))}, {"Min", shared(tfops.Reduce(ops.Min))},
	{"Any", shared(tfops.Reduce(ops.Any))}, {"All", shared(tfops.Reduce(ops.AllOf))}, {"EuclideanNorm", one(euclideanNorm)},
	{"ArgMax", one(argExtreme(ops.ArgMax))}, {"ArgMin", one(argExtreme(ops.ArgMin))}, {"Cumsum", shared(tfops.Cumulative(ops.CumSum))}, {"Cumprod", shared(tfops.Cumulative(ops.CumProd))},
}

// mean of integers is cut off.
func mean(c *call) *graph.Value {
	axes, keep := tfops.Reduced(c.Call)
	x := c.X(0)
	if len(axes) == 0 {
		return x
	}
	if !x.Type.DType.IsInt() {
		return c.Reduce(ops.Mean, x, keep, axes...)
	}
	n := 1
	for _, a := range axes {
		n *= x.Type.Shape[a]
	}
	sum := c.Reduce(ops.Sum, x, keep, axes...)
	return c.Do(ops.Divide, sum, compose.Like(sum, float64(max(n, 1))))
}

func euclideanNorm(c *call) *graph.Value {
	axes, keep := tfops.Reduced(c.Call)
	x := c.X(0)
	if len(axes) == 0 {
		return c.Do(ops.Abs, x)
	}
	return c.Sqrt(c.SumSquare(x, keep, axes...))
}

func argExtreme(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		c.WantRank(0, 1)
		axis := 0
		if c.Present(1) {
			axis = c.KnownInt(1, "the axis")
		}
		return c.Cast(c.Apply(d, ops.ArgAttrs{Axis: frontend.Axis(axis, c.Rank(0))}, c.X(0)), c.typeOf("output_type", types.I64))
	}
}
