package torch

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

var indexRows = []row{
	sig("gather", "self dim:i index sparse_grad:b", func(c *call) any {
		x, at := c.x("self"), c.indices("index")
		a := c.axis("dim", 0, x.Type.Rank())
		for k := range x.Type.Rank() { // axes that index has less of
			if k != a && k < at.Type.Rank() {
				x = c.Slice(x, k, 0, min(at.Type.Shape[k], x.Type.Shape[k]))
			}
		}
		return c.Apply(ops.Gather, ops.GatherAttrs{Axis: a}, x, at)
	}),
	sig("take_along_dim", "self indices dim:i", func(c *call) any {
		x, at := c.x("self"), c.indices("indices")
		a := c.axis("dim", 0, x.Type.Rank())
		xs, is := slices.Clone(x.Type.Shape), slices.Clone(at.Type.Shape)
		n, m := xs[a], is[a]
		xs[a], is[a] = 1, 1
		both := compose.BroadcastShape(xs, is)
		xs, is = slices.Clone(both), slices.Clone(both)
		xs[a], is[a] = n, m
		return c.Apply(ops.Gather, ops.GatherAttrs{Axis: a}, c.BroadcastTo(x, xs...), c.BroadcastTo(at, is...))
	}),
	sig("scatter", "self dim:i index src:T", func(c *call) any { return c.scatter("src", "none") }), sig("scatter", "self dim:i index value:n", func(c *call) any { return c.scatter("value", "none") }),
	sig("scatter", "self dim:i index src:T reduce:s", scatterReduced("src")), sig("scatter", "self dim:i index value:n reduce:s", scatterReduced("value")),
	sig("scatter_add", "self dim:i index src", func(c *call) any { return c.scatter("src", "add") }),
	sig("scatter_reduce", "self dim:i index src reduce:s include_self:b", scatterReduced("src")),
	sig("index_add", "self dim:i index source alpha:n", func(c *call) any { return c.indexed("source", "add") }),
	sig("index_copy", "self dim:i index source", func(c *call) any { return c.indexed("source", "none") }),
	sig("index_fill", "self dim:i index value", func(c *call) any { return c.indexed("value", "none") }),
	sig("index _unsafe_index", "self:T indices", func(c *call) any { return c.picked(c.x("self"), c.places()) }),
	sig("index_put _unsafe_index_put", "self:T indices values accumulate:b unsafe:b", indexPut), sig("_index_put_impl", "self:T indices values accumulate:b unsafe:b", indexPut),
	sig("masked_select", "self mask", func(c *call) any {
		x := c.x("self")
		mask := c.mask("mask")
		shape := compose.BroadcastShape(x.Type.Shape, mask.Type.Shape)
		return c.picked(c.BroadcastTo(x, shape...), []*graph.Value{c.BroadcastTo(mask, shape...)})
	}),
	sig("nonzero", "self", func(c *call) any { return c.Results(ops.ArgWhere, op.None{}, c.x("self"))[0] }),
	sig("where nonzero_numpy", "self:T", func(c *call) any {
		rows := c.Results(ops.ArgWhere, op.None{}, c.x("self"))[0]
		var columns []*graph.Value
		for k := range c.rank(c.t("self")) {
			columns = append(columns, c.At(rows, 1, k))
		}
		return columns
	}),
	sig("bucketize", "self boundaries out_int32:b right:b", func(c *call) any { return c.bucket(c.x("boundaries"), c.x("self")) }),
	sig("searchsorted", "sorted_sequence self out_int32:b right:b side sorter", func(c *call) any { return c.bucket(c.x("sorted_sequence"), c.x("self")) }),
}

// spread is a source of scatter as a tensor of index's shape.
func (c *call) spread(name string, x, at *graph.Value) *graph.Value {
	v := c.operand(c.args[name], x.Type.DType)
	for k, n := range at.Type.Shape {
		if v.Type.Rank() == at.Type.Rank() && v.Type.Shape[k] > n {
			v = c.Slice(v, k, 0, n)
		}
	}
	return c.BroadcastTo(v, at.Type.Shape...)
}

func (c *call) scatter(source, reduction string) any {
	x, at := c.x("self"), c.indices("index")
	a := ops.ScatterElementsAttrs{Axis: c.axis("dim", 0, x.Type.Rank()), Reduction: reduction}
	return c.Apply(ops.ScatterElements, a, x, at, c.spread(source, x, at))
}

func scatterReduced(source string) func(c *call) any {
	return func(c *call) any {
		reduction := map[string]string{"add": "add", "sum": "add", "multiply": "mul", "prod": "mul", "amax": "max", "amin": "min"}[c.str("reduce", "")]
		if reduction == "" || !c.bool("include_self", true) {
			fail("reduce %q is not supported", c.str("reduce", ""))
		}
		return c.scatter(source, reduction)
	}
}

// indexed writes slices of an axis.
func (c *call) indexed(source, reduction string) any {
	x, at := c.x("self"), c.indices("index")
	a := c.axis("dim", 0, x.Type.Rank())
	shape := slices.Clone(x.Type.Shape)
	shape[a] = at.Type.Elements()
	v := c.BroadcastTo(c.operand(c.args[source], x.Type.DType), shape...)
	if alpha := c.num("alpha", 1); alpha != 1 {
		v = c.Scaled(v, alpha)
	}
	wide := slices.Repeat([]int{1}, len(shape))
	wide[a] = shape[a]
	at = c.BroadcastTo(c.Reshape(at, wide...), shape...)
	return c.Apply(ops.ScatterElements, ops.ScatterElementsAttrs{Axis: a, Reduction: reduction}, x, at, v)
}

// bucket is how many boundaries lie below each element, or not above it with right.
func (c *call) bucket(boundaries, x *graph.Value) any {
	if boundaries.Type.Rank() != 1 {
		fail("boundaries %s", boundaries.Type)
	}
	d := promoteTypes(boundaries.Type.DType, x.Type.DType)
	below := ops.Less
	if c.bool("right", false) || c.str("side", "left") == "right" {
		below = ops.LessEqual
	}
	over := c.Do(below, c.Cast(boundaries, d), c.ExpandDims(c.Cast(x, d), x.Type.Rank()))
	y := c.Reduce(ops.Sum, c.Cast(over, types.I64), false, x.Type.Rank())
	if c.bool("out_int32", false) {
		return c.Cast(y, types.I32)
	}
	return y
}
