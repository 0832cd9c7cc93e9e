package paddle

import (
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/types"
)

var makeRows = []row{
	{"fill_constant", one(fill)}, {"fill_any_like", one(fillLike)}, {"fill_zeros_like", one(fillLike)}, {"fill_constant_batch_size_like", one(fillBatch)}, {"assign_value", one(assignValue)},
	{"shape", one(shape)}, {"size", one(func(c *call) *graph.Value {
		return compose.Number(types.I64, float64(c.operand("Input").Type.Elements()))
	})},
	{"range", one(arange)}, {"linspace", one(linspace)}, {"eye", one(eye)},
}

// fill has its number as text too, which holds all integers.
func fill(c *call) *graph.Value {
	c.Ignore("str_value")
	shape, d := c.numbers("shape", "ShapeTensor", "ShapeTensorList"), c.Call.DType("dtype", types.F32)
	if v := c.optional("ValueTensor"); v != nil {
		c.Ignore("value")
		return c.BroadcastTo(c.Reshape(c.Cast(v, d), slices.Repeat([]int{1}, len(shape))...), shape...)
	}
	return c.Full(d, c.Float("value", 0), shape...)
}

func fillLike(c *call) *graph.Value {
	x := c.x()
	v, d := 0.0, x.Type.DType
	if c.Node.Op == "fill_any_like" {
		v = c.real("value", 0, "ValueTensor")
	}
	if c.Has("dtype") {
		if number, err := c.attributes.Int("dtype"); err == nil && number < 0 || c.attributes.Values["dtype"] == "UNDEFINED" {
			c.Ignore("dtype")
		} else {
			d = c.Call.DType("dtype", d)
		}
	}
	return c.Full(d, v, x.Type.Shape...)
}

// fillBatch takes one extent from another value.
func fillBatch(c *call) *graph.Value {
	c.Ignore("str_value")
	like, shape := c.operand("Input"), c.Ints("shape")
	from, to := c.Int("input_dim_idx", 0), c.Int("output_dim_idx", 0)
	if from < 0 || from >= like.Type.Rank() || to < 0 || to >= len(shape) {
		compose.Fail("axis %d of %s for axis %d of %v", from, like.Type, to, shape)
	}
	shape[to] = like.Type.Shape[from]
	return c.Full(c.Call.DType("dtype", types.F32), c.Float("value", 0), shape...)
}

// assignValue is a constant, whose elements lie in one of several attributes.
func assignValue(c *call) *graph.Value {
	d := types.I64
	if c.Has("dtype") {
		d = c.Call.DType("dtype", d)
	}
	var elements []float64
	for _, name := range []string{"values", "fp32_values", "fp64_values", "int32_values", "int64_values", "bool_values", "int8_values"} {
		if !c.Has(name) {
			continue
		}
		if v := c.Floats(name); len(v) > 0 {
			elements = v
		}
	}
	shape := []int{len(elements)}
	if c.Has("shape") {
		shape = c.Ints("shape")
	}
	t := c.Zeros(d, shape...)
	if t.Len() != len(elements) {
		compose.Fail("%d elements for the shape %v", len(elements), shape)
	}
	for i, v := range elements {
		t.SetFloat(i, v)
	}
	return compose.Const(t)
}

// shape is int32, and int64 where the operator says so.
func shape(c *call) *graph.Value {
	d := types.I32
	if c.Bool("wide", false) {
		d = types.I64
	}
	return c.Cast(compose.Ints(c.operand("Input").Type.Shape...), d)
}

// sequence is a constant of which element i is from + i*step.
func (c *call) sequence(d types.DType, from, step float64, n int) *graph.Value {
	if n < 0 || n > 1<<24 {
		compose.Fail("a sequence of %d", n)
	}
	return c.Series(d, from, step, n)
}

func arange(c *call) *graph.Value {
	from, to, step := c.real("start", 0, "Start"), c.real("end", 0, "End"), c.real("step", 1, "Step")
	d := types.I64
	if start := c.optional("Start"); start != nil {
		d = start.Type.DType
	}
	if c.Has("dtype") {
		d = c.Call.DType("dtype", d)
	}
	return c.Range(d, from, to, step)
}

func linspace(c *call) *graph.Value {
	from, to, n := c.real("start", 0, "Start"), c.real("stop", 0, "Stop"), c.number("num", 1, "Num")
	d := types.F32
	if c.Has("dtype") {
		d = c.Call.DType("dtype", d)
	}
	return c.sequence(d, from, (to-from)/float64(max(1, n-1)), n)
}

func eye(c *call) *graph.Value {
	rows := c.number("num_rows", 1, "num_rows")
	columns := c.number("num_columns", -1, "num_columns")
	if columns < 0 {
		columns = rows
	}
	t := c.Zeros(c.Call.DType("dtype", types.F32), rows, columns)
	for i := range min(rows, columns) {
		t.SetFloat(i*columns+i, 1)
	}
	return compose.Const(t)
}
