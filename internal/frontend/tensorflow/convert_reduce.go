package tensorflow

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var reduceRows = []row{
	{"Sum", one(reduction(ops.Sum))}, {"Mean", one(mean)}, {"Prod", one(reduction(ops.Prod))}, {"Max", one(reduction(ops.Max))}, {"Min", one(reduction(ops.Min))},
	{"Any", one(reduction(ops.Any))}, {"All", one(reduction(ops.AllOf))}, {"EuclideanNorm", one(euclideanNorm)},
	{"ArgMax", one(argExtreme(ops.ArgMax))}, {"ArgMin", one(argExtreme(ops.ArgMin))}, {"Cumsum", one(cumulative(ops.CumSum))}, {"Cumprod", one(cumulative(ops.CumProd))},
}

// reduced are the axes of operand 1, and whether they are kept.
func (c *call) reduced() (axes []int, keep bool) {
	keep = c.Bool("keep_dims", false) || c.Bool("keepdims", false)
	return unique(c.KnownInts(1, "the axes"), c.Rank(0)), keep
}

// reduction is along axes; none leave the operand as it is.
func reduction(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		axes, keep := c.reduced()
		if len(axes) == 0 {
			return c.X(0)
		}
		return c.Reduce(d, c.X(0), keep, axes...)
	}
}

// mean of integers is cut off.
func mean(c *call) *graph.Value {
	axes, keep := c.reduced()
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
	axes, keep := c.reduced()
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

func cumulative(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		return c.Apply(d, ops.CumulativeAttrs{Axis: frontend.Axis(c.KnownInt(1, "the axis"), c.Rank(0)), Exclusive: c.Bool("exclusive", false), Reverse: c.Bool("reverse", false)}, c.X(0))
	}
}
