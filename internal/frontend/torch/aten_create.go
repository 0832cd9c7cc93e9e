package torch

import (
	"math"
	"slices"

	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/ops"
	hosttensor "lathe/internal/tensor"
	"lathe/internal/types"
)

// New tensors. Unless an element type is asked for, that of the numbers or of the tensor they are like.
var createRows = []row{
	sig("zeros empty new_empty_strided empty_strided", "size:I dtype", func(c *call) any { return c.constant(c.ints2("size"), 0, types.F32) }),
	sig("empty empty_strided empty_permuted", "size:I stride:I dtype", func(c *call) any { return c.constant(c.ints2("size"), 0, types.F32) }),
	sig("zeros", "size:I names dtype", func(c *call) any { return c.constant(c.ints2("size"), 0, types.F32) }),
	sig("ones", "size:I dtype", func(c *call) any { return c.constant(c.ints2("size"), 1, types.F32) }),
	sig("full", "size:I fill_value dtype", func(c *call) any { return c.full(c.ints2("size"), types.Invalid) }),
	sig("zeros_like empty_like", "self dtype", func(c *call) any { return c.constant(c.x("self").Type.Shape, 0, c.x("self").Type.DType) }),
	sig("ones_like", "self dtype", func(c *call) any { return c.constant(c.x("self").Type.Shape, 1, c.x("self").Type.DType) }),
	sig("full_like", "self fill_value dtype", func(c *call) any { return c.full(c.x("self").Type.Shape, c.x("self").Type.DType) }),
	sig("new_zeros new_empty", "self size:I dtype", func(c *call) any { return c.constant(c.ints2("size"), 0, c.x("self").Type.DType) }),
	sig("new_ones", "self size:I dtype", func(c *call) any { return c.constant(c.ints2("size"), 1, c.x("self").Type.DType) }),
	sig("new_full", "self size:I fill_value dtype", func(c *call) any { return c.full(c.ints2("size"), c.x("self").Type.DType) }),
	sig("new_tensor", "self data dtype", func(c *call) any {
		return c.Cast(c.ofData(c.args["data"], 0), c.dtype("dtype", c.x("self").Type.DType))
	}),
	sig("arange", "end:n dtype", arange), sig("arange", "start:n end:n dtype", arange), sig("arange", "start:n end:n step:n dtype", arange),
	sig("linspace", "start:n end:n steps:i dtype", func(c *call) any {
		n, a, b := c.int("steps", 100), c.num("start", 0), c.num("end", 0)
		t := c.Zeros(c.dtype("dtype", types.F32), max(n, 0))
		for i := range t.Len() {
			t.SetFloat(i, a+(b-a)*float64(i)/float64(max(n-1, 1)))
		}
		return compose.Const(t)
	}),
	sig("logspace", "start:n end:n steps:i base:n dtype", func(c *call) any {
		n, a, b := c.int("steps", 100), c.num("start", 0), c.num("end", 0)
		t := c.Zeros(c.dtype("dtype", types.F32), max(n, 0))
		for i := range t.Len() {
			t.SetFloat(i, math.Pow(c.num("base", 10), a+(b-a)*float64(i)/float64(max(n-1, 1))))
		}
		return compose.Const(t)
	}),
	sig("eye", "n:i dtype", eye), sig("eye", "n:i m:i dtype", eye),
	sig("tensor as_tensor _tensor", "data dtype", func(c *call) any { x := c.ofData(c.args["data"], 0); return c.Cast(x, c.dtype("dtype", x.Type.DType)) }),
	sig("scalar_tensor", "s dtype", func(c *call) any { return c.Cast(c.x("s"), c.dtype("dtype", types.F32)) }),
	sig("tril_indices", "row:i col:i offset:i dtype", func(c *call) any { return c.triangle(func(i, j, k int) bool { return j <= i+k }) }),
	sig("triu_indices", "row:i col:i offset:i dtype", func(c *call) any { return c.triangle(func(i, j, k int) bool { return j >= i+k }) }),
	sig("meshgrid", "tensors:L indexing:s", meshgrid),
	sig("hann_window", "window_length:i periodic:b dtype", window(0.5, -0.5, 0)), sig("hann_window", "window_length:i dtype", window(0.5, -0.5, 0)),
	sig("hamming_window", "window_length:i periodic:b dtype", window(0.54, -0.46, 0)), sig("hamming_window", "window_length:i dtype", window(0.54, -0.46, 0)),
	sig("blackman_window", "window_length:i periodic:b dtype", window(0.42, -0.5, 0.08)), sig("blackman_window", "window_length:i dtype", window(0.42, -0.5, 0.08)),
}

// constant is a tensor with one number everywhere.
func (c *call) constant(shape []int, v float64, d types.DType) any {
	return c.Full(c.dtype("dtype", d), v, slices.Clone(shape)...)
}

// full is a tensor with fill_value everywhere, of its element type unless d says another.
func (c *call) full(shape []int, d types.DType) any {
	v := c.x("fill_value")
	if d == types.Invalid {
		d = v.Type.DType
	}
	v = c.Cast(v, c.dtype("dtype", d))
	if known := v.Value(); known != nil {
		return c.Filled(known, slices.Clone(shape)...)
	}
	return c.BroadcastTo(c.Reshape(v), shape...)
}

// arange counts; floats give floats.
func arange(c *call) any {
	start, end, step := c.num("start", 0), c.num("end", 0), c.num("step", 1)
	d := types.I64
	for _, name := range []string{"start", "end", "step"} {
		if _, ok := c.args[name].(float64); ok {
			d = types.F32
		}
	}
	if step == 0 || (end-start)/step < 0 {
		fail("a range from %v to %v by %v", start, end, step)
	}
	return c.Range(c.dtype("dtype", d), start, end, step)
}

func eye(c *call) any {
	n := c.int("n", 0)
	m := c.int("m", n)
	t := c.Zeros(c.dtype("dtype", types.F32), n, m)
	for i := range min(n, m) {
		t.SetFloat(i*m+i, 1)
	}
	return compose.Const(t)
}

// ofData is a tensor of a number, or of lists of numbers within each other.
func (m *machine) ofData(v value, depth int) *graph.Value {
	if depth > 32 {
		fail("lists are nested too deep")
	}
	parts, ok := items(v)
	if !ok {
		if t, ok := v.(*tensor); ok {
			return m.get(t)
		}
		return literal(v)
	}
	if len(parts) == 0 {
		return m.Full(types.F32, 0, 0)
	}
	values := make([]*graph.Value, len(parts))
	d := types.Invalid
	for i, p := range parts {
		values[i] = m.ofData(p, depth+1)
		d = promoteTypes(d, values[i].Type.DType)
	}
	if all := joinedConstants(values, d); all != nil {
		return compose.Const(all)
	}
	for i := range values {
		values[i] = m.Cast(values[i], d)
	}
	return m.Stack(0, values...)
}

// joinedConstants joins constants of one shape along a new axis, nil where they are not such.
func joinedConstants(values []*graph.Value, d types.DType) *hosttensor.Tensor {
	for _, v := range values {
		if hostValue(v) == nil || !slices.Equal(v.Type.Shape, values[0].Type.Shape) {
			return nil
		}
	}
	n := values[0].Type.Elements()
	out := hosttensor.New(d, append([]int{len(values)}, values[0].Type.Shape...)...)
	for i, v := range values {
		t := hostValue(v)
		for j := range n {
			if d.IsFloat() {
				out.SetFloat(i*n+j, t.Float(j))
			} else {
				out.SetInt(i*n+j, t.Int(j))
			}
		}
	}
	return out
}

// triangle lists the coordinates of a triangle of a matrix.
func (c *call) triangle(in func(i, j, k int) bool) any {
	rows, columns, k := c.int("row", 0), c.int("col", 0), c.int("offset", 0)
	if rows < 0 || columns < 0 || rows > 1<<16 || columns > 1<<16 {
		fail("a matrix of %d by %d", rows, columns)
	}
	var a, b []int
	for i := range rows {
		for j := range columns {
			if in(i, j, k) {
				a, b = append(a, i), append(b, j)
			}
		}
	}
	return c.Stack(0, compose.Ints(a...), compose.Ints(b...))
}

func meshgrid(c *call) any {
	list := c.values("tensors")
	swap := c.str("indexing", "ij") == "xy" && len(list) > 1
	if swap {
		list[0], list[1] = list[1], list[0]
	}
	var shape []int
	for _, x := range list {
		shape = append(shape, x.Type.Elements())
	}
	var out []value
	for k, x := range list {
		own := slices.Repeat([]int{1}, len(shape))
		own[k] = shape[k]
		y := c.BroadcastTo(c.Reshape(x, own...), shape...)
		out = append(out, c.fresh(y))
	}
	if swap {
		out[0], out[1] = out[1], out[0]
	}
	return c.newList(out)
}

// window makes a + b*cos(2 pi i/n) + d*cos(4 pi i/n).
func window(a, b, d float64) func(c *call) any {
	return func(c *call) any {
		t := c.Zeros(c.dtype("dtype", types.F32), max(c.int("window_length", 0), 0))
		n := float64(t.Len())
		if !c.bool("periodic", true) {
			n--
		}
		for i := range t.Len() {
			angle := 2 * math.Pi * float64(i) / max(n, 1)
			t.SetFloat(i, a+b*math.Cos(angle)+d*math.Cos(2*angle))
		}
		return compose.Const(t)
	}
}

// diagonal is a diagonal of a plane of axes, as a new last axis.
func diagonal(c *call) any {
	x := c.x("self")
	a, b, k := c.axis("dim1", 0, x.Type.Rank()), c.axis("dim2", 1, x.Type.Rank()), c.int("offset", 0)
	at := make([]*graph.Value, x.Type.Rank())
	i, j := max(-k, 0), max(k, 0)
	var p, q []int
	for ; i < x.Type.Shape[a] && j < x.Type.Shape[b]; i, j = i+1, j+1 {
		p, q = append(p, i), append(q, j)
	}
	order := []int{a, b}
	for n := range x.Type.Rank() {
		if n != a && n != b {
			order = append(order, n)
		}
	}
	at[0], at[1] = compose.Ints(p...), compose.Ints(q...)
	y := c.picked(c.Transpose(x, order...), at[:2])
	var back []int
	for n := 1; n < y.Type.Rank(); n++ {
		back = append(back, n)
	}
	return c.Transpose(y, append(back, 0)...)
}

// diag is a matrix with a vector as diagonal, or the diagonal of a matrix.
func diag(c *call) any {
	x := c.x("self")
	k := c.int("diagonal", 0) + c.int("offset", 0)
	if x.Type.Rank() == 2 && c.name == "diag" {
		c.args["offset"] = int64(k)
		return diagonal(c)
	}
	last := x.Type.Rank() - 1
	n := x.Type.Shape[last]
	side := n + max(k, -k)
	at, on := c.Zeros(types.I64, side, side), c.Zeros(types.Bool, side, side)
	for i := range n {
		place := (i+max(-k, 0))*side + i + max(k, 0)
		at.SetInt(place, int64(i))
		on.SetInt(place, 1)
	}
	y := c.Apply(ops.Take, ops.TakeAttrs{Axis: last}, x, compose.Const(at))
	return c.Do(ops.Where, compose.Const(on), y, like(x, 0))
}
