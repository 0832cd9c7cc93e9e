package torch

import (
	"lathe/internal/compose"
	"lathe/internal/graph"
	"lathe/internal/types"
)

// category orders the kinds of element types: bool, integers, floats.
func category(d types.DType) int {
	switch {
	case d.IsFloat():
		return 2
	case d == types.Bool:
		return 0
	}
	return 1
}

// promoteTypes is the element type of what combines two tensors (torch.promote_types).
func promoteTypes(a, b types.DType) types.DType {
	switch {
	case a == types.Invalid || a == b:
		return b
	case b == types.Invalid:
		return a
	case category(a) != category(b):
		if category(a) > category(b) {
			return a
		}
		return b
	case category(a) == 2:
		if a.Size() == b.Size() { // float16 and bfloat16
			return types.F32
		}
	case a.IsUnsigned() && !b.IsUnsigned() && a.Size() >= b.Size() || b.IsUnsigned() && !a.IsUnsigned() && b.Size() >= a.Size():
		return map[int]types.DType{1: types.I16, 2: types.I32, 4: types.I64, 8: types.I64}[max(a.Size(), b.Size())]
	}
	if a.Size() >= b.Size() {
		return a
	}
	return b
}

// common is the element type of what combines tensors and numbers (torch.result_type): tensors with axes decide; one without axes, or a
// number, counts only where it is of a higher category.
func (m *machine) common(operands ...value) types.DType {
	var by [3]types.DType // of tensors with axes, without, and numbers
	for _, v := range operands {
		switch x := v.(type) {
		case nil:
		case *tensor:
			d := m.get(x).Type.DType
			switch {
			case x.number && d == types.F64:
				by[2] = promoteTypes(by[2], types.F32)
			case x.number:
				by[2] = promoteTypes(by[2], d)
			case m.rank(x) == 0:
				by[1] = promoteTypes(by[1], d)
			default:
				by[0] = promoteTypes(by[0], d)
			}
		default:
			by[2] = promoteTypes(by[2], literal(x).Type.DType)
		}
	}
	d := by[0]
	for _, other := range by[1:] {
		if other != types.Invalid && (d == types.Invalid || category(other) > category(d)) {
			d = other
		}
	}
	return d
}

// operand is a tensor or number as a value of an element type.
func (m *machine) operand(v value, d types.DType) *graph.Value {
	if t, ok := v.(*tensor); ok {
		return m.Cast(m.get(t), d)
	}
	if f, ok := v.(float64); ok {
		return m.Cast(compose.Number(types.F64, f), d)
	}
	return m.Cast(literal(v), d)
}

// both are the arguments of a binary operator in one element type.
func (c *call) both(a, b string) (x, y *graph.Value) {
	d := c.common(c.args[a], c.args[b])
	return c.operand(c.args[a], d), c.operand(c.args[b], d)
}
