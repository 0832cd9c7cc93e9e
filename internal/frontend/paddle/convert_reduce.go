package paddle

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var reduceRows = []row{
	{"reduce_sum", one(reduce(ops.Sum))}, {"reduce_mean", one(reduce(ops.Mean))}, {"reduce_max", one(reduce(ops.Max))}, {"reduce_min", one(reduce(ops.Min))}, {"reduce_prod", one(reduce(ops.Prod))},
	{"reduce_all", one(reduce(ops.AllOf))}, {"reduce_any", one(reduce(ops.Any))}, {"reduce_amax", one(reduce(ops.Max))}, {"reduce_amin", one(reduce(ops.Min))},
	{"mean", one(func(c *call) *graph.Value { return c.Reduce(ops.Mean, c.x(), false) })},
	{"logsumexp", one(func(c *call) *graph.Value {
		axes, keep := c.folded("axis", "keepdim")
		return c.LogSumExp(c.x(), keep, axes...)
	})},
	{"p_norm", one(pNorm)}, {"frobenius_norm", one(func(c *call) *graph.Value {
		axes, keep := c.folded("dim", "keep_dim")
		return c.LpNorm(c.x(), 2, keep, axes...)
	})},
	{"squared_l2_norm", one(func(c *call) *graph.Value { return c.SumSquare(c.x(), false) })},
	{"arg_max", one(arg(ops.ArgMax))}, {"arg_min", one(arg(ops.ArgMin))}, {"cumsum", one(cumulative(ops.CumSum))}, {"cumprod", one(cumulative(ops.CumProd))},
	{"top_k", topK}, {"top_k_v2", topK}, {"argsort", argSort},
}

// axis is an attribute that is an axis of X.
func (c *call) axis(name string, absent int) int {
	return frontend.Axis(c.Int(name, absent), c.x().Type.Rank())
}

// folded are the axes of a reduction, none of which means all, and whether they stay.
func (c *call) folded(axis, keep string) ([]int, bool) {
	c.Ignore("asvector")
	axes := frontend.Axes(c.numbers(axis, "Axis", "AxisTensor", "AxisTensorList"), c.x().Type.Rank())
	if c.Bool("reduce_all", false) {
		axes = nil
	}
	return axes, c.Bool(keep, false)
}

func reduce(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		axes, keep := c.folded("dim", "keep_dim")
		c.Ignore("in_dtype")
		x, now := c.x(), d
		if x.Type.DType == types.Bool {
			switch d {
			case ops.Max:
				now = ops.Any
			case ops.Min:
				now = ops.AllOf
			case ops.Sum:
				x = c.Cast(x, types.I64)
			}
		}
		if c.Has("out_dtype") {
			if number, err := c.attributes.Int("out_dtype"); err == nil && number < 0 || c.attributes.Values["out_dtype"] == "UNDEFINED" {
				c.Ignore("out_dtype")
			} else {
				x = c.Cast(x, c.Call.DType("out_dtype", x.Type.DType))
			}
		}
		return c.Reduce(now, x, keep, axes...)
	}
}

// pNorm is the root of the sum of |x|^p along an axis, or of all.
func pNorm(c *call) *graph.Value {
	x, p, keep := c.x(), c.Float("porder", 2), c.Bool("keepdim", false)
	c.Ignore("epsilon")
	axis := c.Int("axis", -1)
	var axes []int
	if !c.Bool("asvector", false) {
		axes = []int{frontend.Axis(axis, x.Type.Rank())}
	}
	switch {
	case p > 1e30:
		return c.Reduce(ops.Max, c.Do(ops.Abs, x), keep, axes...)
	case p < -1e30:
		return c.Reduce(ops.Min, c.Do(ops.Abs, x), keep, axes...)
	case p == 0:
		return c.Reduce(ops.Sum, c.Cast(c.Do(ops.NotEqual, x, compose.Like(x, 0)), x.Type.DType), keep, axes...)
	}
	return c.LpNorm(x, p, keep, axes...)
}

func arg(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		x, keep := c.x(), c.Bool("keepdims", false)
		axis := c.number("axis", -1, "Axis")
		rank := x.Type.Rank()
		if flat := c.Bool("flatten", false); flat {
			x, axis = c.Reshape(x, x.Type.Elements()), 0
			keep = false
		}
		y := c.Apply(d, ops.ArgAttrs{Axis: frontend.Axis(axis, x.Type.Rank()), KeepDims: keep}, x)
		if rank == 0 {
			y = c.Scalar(y)
		}
		return c.Cast(y, c.indexType("dtype"))
	}
}

// indexType is the element type of places, int64 unless an attribute says that it is int32.
func (c *call) indexType(name string) types.DType {
	if !c.Has(name) {
		return types.I64
	}
	if number, err := c.attributes.Int(name); err == nil && number < 0 {
		c.Ignore(name)
		return types.I64
	}
	return c.Call.DType(name, types.I64)
}

func cumulative(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		x := c.x()
		axis := c.number("axis", c.Int("dim", -1), "Axis")
		if c.Bool("flatten", false) {
			x, axis = c.Reshape(x, x.Type.Elements()), 0
		}
		return c.Apply(d, ops.CumulativeAttrs{Axis: frontend.Axis(axis, x.Type.Rank()), Exclusive: c.Bool("exclusive", false), Reverse: c.Bool("reverse", false)}, x)
	}
}

// topK gives values and places; without sorting, their order is open.
func topK(c *call) values {
	c.Ignore("sorted")
	return c.sorted(c.number("k", 1, "K"), c.axis("axis", -1), c.Bool("largest", true))
}

// argSort sorts an axis, which is the choice of all of its elements.
func argSort(c *call) values {
	c.Ignore("stable")
	axis := c.axis("axis", -1)
	return c.sorted(c.x().Type.Shape[axis], axis, c.Bool("descending", false))
}

func (c *call) sorted(k, axis int, largest bool) values {
	return c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: axis, Largest: largest}, c.x())
}
