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
	sig("embedding", "weight indices padding_idx:i scale_grad_by_freq:b sparse:b", func(c *call) any {
		return c.Apply(ops.Take, ops.TakeAttrs{Axis: 0}, c.x("weight"), c.indices("indices"))
	}),
	sig("embedding_bag", "weight indices offsets scale_grad_by_freq:b mode:i sparse:b per_sample_weights include_last_offset:b padding_idx", embeddingBag),
	sig("index_select", "self dim:i index", func(c *call) any {
		x := c.x("self")
		at := c.indices("index")
		if at.Type.Rank() == 0 {
			at = c.Reshape(at, 1)
		}
		return c.Apply(ops.Take, ops.TakeAttrs{Axis: c.axis("dim", 0, x.Type.Rank())}, x, at)
	}),
	sig("take", "self index", func(c *call) any {
		x := c.x("self")
		return c.Apply(ops.Take, ops.TakeAttrs{Axis: 0}, c.Reshape(x, x.Type.Elements()), c.indices("index"))
	}),
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
	sig("masked_scatter", "self mask source", func(c *call) any {
		x := c.x("self")
		mask := c.BroadcastTo(c.mask("mask"), x.Type.Shape...)
		n := x.Type.Elements()
		order := c.Apply(ops.CumSum, ops.CumulativeAttrs{Exclusive: true}, c.Cast(c.Reshape(mask, n), types.I64))
		source := c.x("source")
		return c.Do(ops.Where, mask, c.Reshape(c.Apply(ops.Take, ops.TakeAttrs{}, c.Reshape(source, source.Type.Elements()), order), x.Type.Shape...), x)
	}),
	sig("nonzero", "self", func(c *call) any { return c.Results(ops.ArgWhere, op.None{}, c.x("self"))[0] }),
	sig("select_scatter", "self src dim:i index:i", func(c *call) any {
		t := c.copyOf(c.t("self"))
		a := c.axis("dim", 0, c.rank(t))
		c.replace(c.selected(t, a, c.index(c.args["index"], c.shape(t)[a])), c.t("src"))
		return t
	}),
	sig("slice_scatter", "self src dim:i start end step", func(c *call) any {
		t := c.copyOf(c.t("self"))
		a := c.axis("dim", 0, c.rank(t))
		begin, end, step := c.cut(c.args["start"], c.args["end"], c.args["step"], c.shape(t)[a])
		c.replace(c.sliced(t, a, begin, end, step), c.t("src"))
		return t
	}),
	sig("bucketize", "self boundaries out_int32:b right:b", func(c *call) any { return c.bucket(c.x("boundaries"), c.x("self")) }),
	sig("searchsorted", "sorted_sequence self out_int32:b right:b side sorter", func(c *call) any { return c.bucket(c.x("sorted_sequence"), c.x("self")) }),
	sig("one_hot", "self num_classes:i", func(c *call) any {
		if c.int("num_classes", -1) < 0 {
			fail("a number of classes that depends on data is not supported")
		}
		at := c.indices("self")
		return c.Apply(ops.OneHot, ops.OneHotAttrs{Depth: c.int("num_classes", 0), Axis: at.Type.Rank()}, at, whole(1), whole(0))
	}),
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

// embeddingBag reduces rows of a weight: of the rows of a matrix of indices, or from offset to offset where these are known.
func embeddingBag(c *call) any {
	at := c.indices("indices")
	mode := c.int("mode", 0)
	if mode < 0 || mode > 2 || c.given("per_sample_weights") && mode != 0 {
		fail("mode %d is not supported", mode)
	}
	reduce := func(x *graph.Value) *graph.Value {
		switch mode {
		case 0:
			return c.Reduce(ops.Sum, x, false, x.Type.Rank()-2)
		case 1:
			return c.Reduce(ops.Mean, x, false, x.Type.Rank()-2)
		}
		return c.Reduce(ops.Max, x, false, x.Type.Rank()-2)
	}
	rows := c.Apply(ops.Take, ops.TakeAttrs{Axis: 0}, c.x("weight"), at)
	if w := c.opt("per_sample_weights"); w != nil {
		rows = c.Do(ops.Multiply, rows, c.ExpandDims(w, w.Type.Rank()))
	}
	if at.Type.Rank() == 2 {
		return tuple{c.fresh(reduce(rows)), nil, nil, nil}
	}
	offsets := c.ints("offsets")
	if !c.bool("include_last_offset", false) {
		offsets = append(offsets, at.Type.Shape[0])
	}
	var bags []*graph.Value
	for i := range len(offsets) - 1 {
		bags = append(bags, reduce(c.Slice(rows, 0, offsets[i], offsets[i+1])))
	}
	return tuple{c.fresh(c.Stack(0, bags...)), nil, nil, nil}
}
