package torch

import (
	"lathe/internal/compose"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// A call is one operator being applied.
type call struct {
	*machine
	name string
	args map[string]value
}

// given reports whether an argument is there and not None.
func (c *call) given(name string) bool { return c.args[name] != nil }

// t is an argument as a tensor: numbers are tensors without axes.
func (c *call) t(name string) *tensor {
	switch x := c.args[name].(type) {
	case *tensor:
		return x
	case nil:
		fail("argument %s is missing", name)
	}
	t := c.fresh(literal(c.args[name]))
	t.number = true
	return t
}

// x is the value of a tensor.
func (c *call) x(name string) *graph.Value { return c.get(c.t(name)) }

// opt is the value of a tensor, or nil.
func (c *call) opt(name string) *graph.Value {
	if !c.given(name) {
		return nil
	}
	return c.x(name)
}

// float is the value of a tensor of floats, integers being converted.
func (c *call) float(name string) *graph.Value { return c.real(c.x(name)) }

// real is x, integers as float32.
func (c *call) real(x *graph.Value) *graph.Value {
	if x.Type.DType.IsFloat() {
		return x
	}
	return c.Cast(x, types.F32)
}

// tensors are those of a list.
func (c *call) tensors(name string) []*tensor {
	parts, ok := items(c.args[name])
	if !ok {
		fail("argument %s is %s instead of a list of tensors", name, kind(c.args[name]))
	}
	out := make([]*tensor, len(parts))
	for i, p := range parts {
		t, ok := p.(*tensor)
		if !ok {
			fail("argument %s holds %s", name, kind(p))
		}
		out[i] = t
	}
	return out
}

// values are the values of a list of tensors.
func (c *call) values(name string) []*graph.Value {
	list := c.tensors(name)
	out := make([]*graph.Value, len(list))
	for i, t := range list {
		out[i] = c.get(t)
	}
	return out
}

// num is a number that is known.
func (c *call) num(name string, absent float64) float64 {
	v := c.args[name]
	if t, ok := v.(*tensor); ok {
		v = c.known(t, "argument "+name)[0]
	}
	if v == nil {
		return absent
	}
	n, ok := number(v)
	if !ok {
		fail("argument %s is %s instead of a number", name, kind(v))
	}
	return n
}

// int is a whole number that is known.
func (c *call) int(name string, absent int) int {
	if !c.given(name) {
		return absent
	}
	return c.whole(c.args[name], name)
}

// whole is a value as an int.
func (m *machine) whole(v value, name string) int {
	if t, ok := v.(*tensor); ok {
		all := m.known(t, "argument "+name)
		if len(all) != 1 {
			fail("argument %s is a tensor of %d elements instead of a number", name, len(all))
		}
		v = all[0]
	}
	switch x := v.(type) {
	case int64:
		return int(x)
	case bool:
		if x {
			return 1
		}
		return 0
	}
	fail("argument %s is %s instead of an int", name, kind(v))
	return 0
}

// ints are whole numbers; nil where the argument is absent or empty. One number is a list of one.
func (c *call) ints(name string) []int {
	v := c.args[name]
	if v == nil {
		return nil
	}
	if t, ok := v.(*tensor); ok && !t.number {
		var out []int
		for _, x := range c.known(t, "argument "+name) {
			out = append(out, c.whole(x, name))
		}
		return out
	}
	parts, ok := items(v)
	if !ok {
		return []int{c.whole(v, name)}
	}
	out := make([]int, len(parts))
	for i, p := range parts {
		out[i] = c.whole(p, name)
	}
	return out
}

// perAxis are n whole numbers: one stands for all, none for absent ones.
func (c *call) perAxis(name string, n, absent int) []int {
	return frontend.PerAxis(c.ints(name), n, absent, "argument "+name)
}

func (c *call) bool(name string, absent bool) bool {
	if !c.given(name) {
		return absent
	}
	yes, known := c.truth(c.args[name])
	if !known {
		fail("argument %s depends on input data, which is not supported", name)
	}
	return yes
}

func (c *call) str(name, absent string) string {
	if s, ok := c.args[name].(string); ok {
		return s
	}
	return absent
}

// dtype is the element type that an argument asks for, or absent.
func (c *call) dtype(name string, absent types.DType) types.DType {
	if !c.given(name) {
		return absent
	}
	return dtypeOf(c.args[name])
}

// axis is an axis of a tensor of the given rank. Of a tensor without axes it can be 0.
func (c *call) axis(name string, absent, rank int) int {
	return frontend.Axis(c.int(name, absent), max(rank, 1))
}

// axes are sorted axes; all where none are given.
func (c *call) axes(name string, rank int) []int {
	list := c.ints(name)
	if rank == 0 {
		return nil
	}
	if len(list) == 0 {
		for k := range rank {
			list = append(list, k)
		}
	}
	return frontend.Axes(list, rank)
}

// like is a number of x's element type.
func like(x *graph.Value, v float64) *graph.Value { return compose.Like(x, v) }

// indices is an argument as integers. An input whose element type was assumed becomes one of integers.
func (c *call) indices(name string) *graph.Value { return c.asIndices(c.x(name)) }

func (m *machine) asIndices(x *graph.Value) *graph.Value {
	if x.Type.DType.IsFloat() {
		m.retype(x, types.I64, "takes it as an index")
		fail("indices are %s; they must be integers", x.Type)
	}
	return m.Cast(x, types.I64)
}

// retype asks for another element type of the inputs that x depends on, as far as it was assumed.
func (m *machine) retype(x *graph.Value, d types.DType, reason string) {
	if names := m.Assumed(x); len(names) > 0 {
		fail("%w", &frontend.TypeError{Inputs: names, DType: d, Reason: m.place.op + " " + reason})
	}
}

// known is the value of a tensor that decides a shape or the like.
func (m *machine) known(t *tensor, what string) []value {
	v := m.get(t)
	k := v.Value()
	if k == nil {
		fail("%s depends on input data, which is not supported%s", what, m.FixHint(v))
	}
	var out []value
	for i := range k.Len() {
		switch {
		case k.DType.IsFloat():
			out = append(out, k.Float(i))
		case k.DType == types.Bool:
			out = append(out, k.Int(i) != 0)
		default:
			out = append(out, k.Int(i))
		}
	}
	return out
}
