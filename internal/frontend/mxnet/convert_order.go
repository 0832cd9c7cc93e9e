package mxnet

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// orderRows compare elements along an axis.
var orderRows = []row{
	{"argmax", argExtreme(ops.ArgMax)}, {"argmin", argExtreme(ops.ArgMin)}, {"_npi_argmax", argExtreme(ops.ArgMax)}, {"_npi_argmin", argExtreme(ops.ArgMin)},
	{"argmax_channel", func(c *call) *graph.Value {
		return c.Cast(c.Apply(ops.ArgMax, ops.ArgAttrs{Axis: 1}, c.X(0)), c.X(0).Type.DType)
	}},
	{"sort", func(c *call) *graph.Value { return c.sorted()[0] }}, {"argsort", func(c *call) *graph.Value { return c.Cast(c.sorted()[1], c.DType("dtype", types.F32)) }},
}

// argExtreme is a place as a number of the data's type, of all elements where there is no axis; numpy's is an integer.
func argExtreme(d *op.Def) func(c *call) *graph.Value {
	return func(c *call) *graph.Value {
		x, to := c.X(0), c.X(0).Type.DType
		if c.Node.Op[:4] == "_npi" {
			to = types.I64
		}
		if !c.Has("axis") {
			x = c.Reshape(x, x.Type.Elements())
		}
		return c.Cast(c.Apply(d, ops.ArgAttrs{Axis: frontend.Axis(c.Int("axis", 0), x.Type.Rank()), KeepDims: c.Bool("keepdims", false)}, x), to)
	}
}

// sorted are all elements of an axis in order, and their places.
func (c *call) sorted() values {
	axis := frontend.Axis(c.Int("axis", -1), c.Rank(0))
	return c.Results(ops.TopK, ops.TopKAttrs{K: c.Shape(0)[axis], Axis: axis, Largest: !c.Bool("is_ascend", true)}, c.X(0))
}

// topK gives places, values, both, or a mask of the elements that are among the k greatest of an axis.
func topK(c *call) values {
	axis := frontend.Axis(c.Int("axis", -1), c.Rank(0))
	k := c.Int("k", 1)
	if k < 1 {
		k = c.Shape(0)[axis]
	}
	out := c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: axis, Largest: !c.Bool("is_ascend", false)}, c.X(0))
	places := c.Cast(out[1], c.DType("dtype", types.F32))
	switch c.OneOf("ret_typ", "indices", "indices", "value", "both", "mask") {
	case "value":
		return values{out[0]}
	case "both":
		return values{out[0], places}
	case "mask":
		d := c.X(0).Type.DType
		hot := c.Apply(ops.OneHot, ops.OneHotAttrs{Depth: c.Shape(0)[axis], Axis: axis + 1}, out[1], compose.Number(d, 1), compose.Number(d, 0))
		return values{c.Reduce(ops.Max, hot, false, axis)}
	}
	return values{places}
}
