package torch

import (
	"slices"

	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/ops"
	"lathe/internal/types"
)

// Conversions of element types. Where a tensor lies does not matter.
var castRows = []row{
	sig("to", "self:T dtype:i non_blocking:b copy:b memory_format", to), sig("to", "self:T device:s dtype:i non_blocking:b copy:b memory_format", to),
	sig("to", "self:T other:T non_blocking:b copy:b memory_format", to), sig("to", "self:T device dtype:i non_blocking copy memory_format", to),
	sig("to", "self:T dtype layout device pin_memory non_blocking copy memory_format", to),
	sig("_to_copy", "self dtype", to), sig("type_as", "self other", to), sig("_autocast_to_reduced_precision _autocast_to_full_precision", "self cuda cpu type1 type2", func(c *call) any { return c.t("self") }),
	converted("float _cast_Float", types.F32), converted("double _cast_Double", types.F64), converted("half _cast_Half", types.F16), converted("bfloat16", types.BF16),
	converted("long _cast_Long", types.I64), converted("int _cast_Int", types.I32), converted("short _cast_Short", types.I16), converted("char _cast_Char", types.I8),
	converted("byte _cast_Byte", types.U8), converted("bool", types.Bool),
}

func converted(names string, d types.DType) row {
	return sig(names, "self non_blocking:b", func(c *call) any { return c.as(d) })
}

// as is self with another element type: self where it has that.
func (c *call) as(d types.DType) any {
	t := c.t("self")
	x := c.get(t)
	if x.Type.DType == d {
		return t
	}
	if x.Type.DType.IsFloat() && !d.IsFloat() && d != types.Bool {
		x = c.Do(ops.Trunc, x)
	}
	return c.number(c.Cast(x, d), "self")
}

func to(c *call) any {
	d := c.x("self").Type.DType
	if c.given("other") {
		d = c.x("other").Type.DType
	}
	if n, ok := c.args["dtype"].(int64); ok && n != typeOf(c.t("self"), c.machine) {
		d = c.dtype("dtype", d)
	}
	y := c.as(d)
	if t, ok := y.(*tensor); ok && c.bool("copy", false) {
		return c.copyOf(t)
	}
	return y
}

// Orders of elements.
var sortRows = []row{
	sig("topk", "self k dim:i largest:b sorted:b", func(c *call) any { return c.ordered(c.int("k", 1), c.bool("largest", true)) }),
	sig("sort", "self dim:i descending:b", func(c *call) any { return c.ordered(-1, c.bool("descending", false)) }), sig("sort", "self stable dim:i descending:b", func(c *call) any { return c.ordered(-1, c.bool("descending", false)) }),
	sig("argsort", "self dim:i descending:b", func(c *call) any { return c.ordered(-1, c.bool("descending", false))[1] }), sig("argsort", "self stable dim:i descending:b", func(c *call) any { return c.ordered(-1, c.bool("descending", false))[1] }),
	sig("msort", "self", func(c *call) any { c.args["dim"] = int64(0); return c.ordered(-1, false)[0] }),
	sig("kthvalue", "self k:i dim:i keepdim:b", func(c *call) any { return c.nth(c.int("k", 1)-1, c.bool("keepdim", false)) }),
	sig("median nanmedian", "self dim:i! keepdim:b", func(c *call) any {
		x := c.x("self")
		return c.nth((x.Type.Shape[c.axis("dim", -1, x.Type.Rank())]-1)/2, c.bool("keepdim", false))
	}),
	sig("median nanmedian", "self", func(c *call) any {
		x := c.x("self")
		c.args["self"] = c.fresh(c.Reshape(x, x.Type.Elements()))
		return c.nth((x.Type.Elements()-1)/2, false)[0]
	}),
}

// ordered gives the first k elements of an axis in order and their places; all with -1.
func (c *call) ordered(k int, largest bool) []*graph.Value {
	x := c.x("self")
	if x.Type.Rank() == 0 {
		return []*graph.Value{x, whole(0)}
	}
	a := frontend.Axis(c.int("dim", -1), x.Type.Rank())
	if k < 0 {
		k = x.Type.Shape[a]
	}
	if x.Type.DType == types.Bool {
		x = c.Cast(x, types.U8)
		out := c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: a, Largest: largest}, x)
		return []*graph.Value{c.Cast(out[0], types.Bool), out[1]}
	}
	return c.Results(ops.TopK, ops.TopKAttrs{K: k, Axis: a, Largest: largest}, x)
}

// nth gives the element of an axis that n others come before, and its place.
func (c *call) nth(n int, keep bool) []*graph.Value {
	all := c.ordered(n+1, false)
	if all[0].Type.Rank() == 0 {
		return all
	}
	a := c.axis("dim", -1, all[0].Type.Rank())
	all = slices.Clone(all) // those of a node
	for i, v := range all {
		all[i] = c.Slice(v, a, n, n+1)
		if !keep {
			all[i] = c.Squeeze(all[i], a)
		}
	}
	return all
}

// summed is x in the element type of its sums.
func (m *machine) summed(x *graph.Value) *graph.Value {
	if x.Type.DType.IsFloat() {
		return x
	}
	return m.Cast(x, types.I64)
}
