package torch

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var reduceRows = slices.Concat(
	// Sums of integers and truth values are int64.
	reduction("sum nansum", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		if c.name == "nansum" {
			x = c.Do(ops.Where, c.Do(ops.IsNaN, x), like(x, 0), x)
		}
		return c.reduce(ops.Sum, c.summed(x), keep, axes)
	}),
	reduction("mean nanmean", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.reduce(ops.Mean, c.real(x), keep, axes)
	}),
	reduction("prod", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.reduce(ops.Prod, c.summed(x), keep, axes)
	}),
	reduction("any", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.reduce(ops.Any, c.Cast(x, types.Bool), keep, axes)
	}),
	reduction("all", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.reduce(ops.AllOf, c.Cast(x, types.Bool), keep, axes)
	}),
	reduction("count_nonzero", func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value {
		return c.reduce(ops.Sum, c.Cast(c.Cast(x, types.Bool), types.I64), keep, axes)
	}),
	[]row{
		sig("amax", "self dim:I keepdim:b", func(c *call) any { return c.reduce(ops.Max, c.x("self"), c.bool("keepdim", false), c.some("dim")) }),
		sig("amin", "self dim:I keepdim:b", func(c *call) any { return c.reduce(ops.Min, c.x("self"), c.bool("keepdim", false), c.some("dim")) }),
		sig("aminmax", "self dim:i keepdim:b", func(c *call) any {
			x, keep, axes := c.x("self"), c.bool("keepdim", false), c.some("dim")
			return []*graph.Value{c.reduce(ops.Min, x, keep, axes), c.reduce(ops.Max, x, keep, axes)}
		}),
		sig("logsumexp", "self dim:I keepdim:b", func(c *call) any {
			x := c.float("self")
			return c.LogSumExp(x, c.bool("keepdim", false), c.axes("dim", x.Type.Rank())...)
		}),
		sig("max", "self:T", func(c *call) any { return c.reduce(ops.Max, c.x("self"), false, nil) }), sig("max", "self:T dim:i keepdim:b", extremeAlong(ops.Max, ops.ArgMax)),
		sig("min", "self:T", func(c *call) any { return c.reduce(ops.Min, c.x("self"), false, nil) }), sig("min", "self:T dim:i keepdim:b", extremeAlong(ops.Min, ops.ArgMin)),
		sig("argmax", "self dim:i keepdim:b", placeOf(ops.ArgMax)), sig("argmin", "self dim:i keepdim:b", placeOf(ops.ArgMin)),
		sig("equal", "self other", func(c *call) any {
			x, y := c.both("self", "other")
			if !slices.Equal(x.Type.Shape, y.Type.Shape) {
				return false
			}
			return c.scalarOf(c.reduce(ops.AllOf, c.Do(ops.Equal, x, y), false, nil))
		}),
		sig("std", "self unbiased:b", deviation(true, false)), sig("std", "self dim:I unbiased:b keepdim:b", deviation(true, false)), sig("std", "self dim:I correction:n keepdim:b", deviation(true, false)),
		sig("var", "self unbiased:b", deviation(false, false)), sig("var", "self dim:I unbiased:b keepdim:b", deviation(false, false)), sig("var", "self dim:I correction:n keepdim:b", deviation(false, false)),
		sig("std_mean", "self unbiased:b", deviation(true, true)), sig("std_mean", "self dim:I unbiased:b keepdim:b", deviation(true, true)), sig("std_mean", "self dim:I correction:n keepdim:b", deviation(true, true)),
		sig("var_mean", "self unbiased:b", deviation(false, true)), sig("var_mean", "self dim:I unbiased:b keepdim:b", deviation(false, true)), sig("var_mean", "self dim:I correction:n keepdim:b", deviation(false, true)),
		sig("norm", "self p:n", norm), sig("norm", "self p dim:I keepdim:b dtype", norm), sig("norm", "self p dtype", norm), sig("linalg_vector_norm", "self ord:n dim:I keepdim:b dtype", norm),
		sig("linalg_norm frobenius_norm", "self dim:I keepdim:b", norm), sig("linalg_norm", "self ord dim:I keepdim:b dtype", norm),
		sig("cumsum", "self dim:i dtype", func(c *call) any {
			x := c.Cast(c.summed(c.x("self")), c.dtype("dtype", c.summed(c.x("self")).Type.DType))
			return c.Apply(ops.CumSum, ops.CumulativeAttrs{Axis: c.axis("dim", 0, x.Type.Rank())}, x)
		}),
		sig("cumprod", "self dim:i dtype", func(c *call) any {
			x := c.Cast(c.summed(c.x("self")), c.dtype("dtype", c.summed(c.x("self")).Type.DType))
			return c.Apply(ops.CumProd, ops.CumulativeAttrs{Axis: c.axis("dim", 0, x.Type.Rank())}, x)
		}),
		sig("trace", "self", func(c *call) any {
			x := c.x("self")
			n := min(x.Type.Shape[0], x.Type.Shape[1])
			eye := c.Zeros(x.Type.DType, x.Type.Shape...)
			for i := range n {
				eye.SetFloat(i*x.Type.Shape[1]+i, 1)
			}
			return c.Reduce(ops.Sum, c.Do(ops.Multiply, x, compose.Const(eye)), false)
		}),
	})

// reduction makes the rows of an operator over all axes or some.
func reduction(names string, f func(c *call, x *graph.Value, keep bool, axes []int) *graph.Value) []row {
	convert := func(c *call) any {
		x := c.x("self")
		if c.given("dtype") {
			x = c.Cast(x, c.dtype("dtype", types.Invalid))
		}
		y := f(c, x, c.bool("keepdim", false), c.some("dim"))
		if c.given("dtype") {
			y = c.Cast(y, c.dtype("dtype", types.Invalid))
		}
		return y
	}
	return []row{sig(names, "self dim:I keepdim:b dtype", convert)}
}

// some are the axes of an argument; nil for all.
func (c *call) some(name string) []int {
	list := c.ints(name)
	if len(list) == 0 || c.x("self").Type.Rank() == 0 {
		return nil
	}
	return c.axes(name, c.x("self").Type.Rank())
}

// reduce applies a reduction; nil axes are all. Of a tensor without axes the element is left.
func (m *machine) reduce(d *op.Def, x *graph.Value, keep bool, axes []int) *graph.Value {
	return m.Reduce(d, x, keep, axes...)
}

// summed is x in the element type of its sums.
func (m *machine) summed(x *graph.Value) *graph.Value {
	if x.Type.DType.IsFloat() {
		return x
	}
	return m.Cast(x, types.I64)
}

// extremeAlong gives the extremes of an axis and their places.
func extremeAlong(d, at *op.Def) func(c *call) any {
	return func(c *call) any {
		x, keep := c.x("self"), c.bool("keepdim", false)
		if x.Type.Rank() == 0 {
			return []*graph.Value{x, whole(0)}
		}
		a := c.axis("dim", 0, x.Type.Rank())
		return []*graph.Value{c.Reduce(d, x, keep, a), c.Apply(at, ops.ArgAttrs{Axis: a, KeepDims: keep}, x)}
	}
}

// placeOf is the index of the extreme of an axis, or of all elements in order.
func placeOf(d *op.Def) func(c *call) any {
	return func(c *call) any {
		x := c.x("self")
		if x.Type.DType == types.Bool {
			x = c.Cast(x, types.U8)
		}
		if !c.given("dim") || x.Type.Rank() == 0 {
			y := c.Apply(d, ops.ArgAttrs{Axis: 0}, c.Reshape(x, x.Type.Elements()))
			if c.bool("keepdim", false) {
				y = c.Reshape(y, slices.Repeat([]int{1}, x.Type.Rank())...)
			}
			return y
		}
		return c.Apply(d, ops.ArgAttrs{Axis: c.axis("dim", 0, x.Type.Rank()), KeepDims: c.bool("keepdim", false)}, x)
	}
}

// deviation is the variance or its root: the sum of squares divided by the number of elements less the correction, 1 unless given.
func deviation(root, withMean bool) func(c *call) any {
	return func(c *call) any {
		x := c.float("self")
		axes, keep := c.axes("dim", x.Type.Rank()), c.bool("keepdim", false)
		correction := c.num("correction", 1)
		if c.given("unbiased") && !c.bool("unbiased", true) {
			correction = 0
		}
		n := 1
		for _, a := range axes {
			n *= x.Type.Shape[a]
		}
		mean := c.Reduce(ops.Mean, x, true, axes...)
		d := c.Do(ops.Subtract, x, mean)
		y := c.Scaled(c.Reduce(ops.Mean, c.Do(ops.Multiply, d, d), keep, axes...), float64(n)/max(float64(n)-correction, 0))
		if root {
			y = c.Do(ops.Sqrt, y)
		}
		if !withMean {
			return y
		}
		if !keep {
			mean = c.DropAxes(mean, axes...)
		}
		return []*graph.Value{y, mean}
	}
}

// norm is the p-norm over some axes.
func norm(c *call) any {
	x := c.float("self")
	if c.t("self").complex {
		x = c.magnitude(x)
	}
	x = c.Cast(x, c.dtype("dtype", x.Type.DType))
	axes, keep, p := c.axes("dim", x.Type.Rank()), c.bool("keepdim", false), 2.0
	for _, name := range []string{"p", "ord"} {
		if s, ok := c.args[name].(string); ok {
			if s != "fro" {
				fail("a norm of kind %q is not supported", s)
			}
		} else if c.given(name) {
			p = c.num(name, 2)
		}
	}
	if x.Type.Rank() == 0 {
		return c.Do(ops.Abs, x)
	}
	switch {
	case math.IsInf(p, 1):
		return c.Reduce(ops.Max, c.Do(ops.Abs, x), keep, axes...)
	case math.IsInf(p, -1):
		return c.Reduce(ops.Min, c.Do(ops.Abs, x), keep, axes...)
	case p == 0:
		return c.Reduce(ops.Sum, c.Cast(c.Cast(x, types.Bool), x.Type.DType), keep, axes...)
	}
	return c.LpNorm(x, p, keep, axes...)
}
