package ops

import (
	"fmt"
	"slices"

	"lathe/internal/op"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// A kind is a set of element types an operand may have. Order matters to samples only: the first is the most frequent.
type kind struct {
	name    string
	types   []types.DType
	nibbles bool // integers of 4 bits too, which samples do not draw: they are computed in 8
}

var (
	floats   = kind{name: "a floating-point type", types: []types.DType{types.F32, types.F64, types.F16, types.BF16}}
	integers = kind{name: "an integer type", types: []types.DType{
		types.I32, types.I64, types.I8, types.U8, types.I16, types.U16, types.U32, types.U64}}
	numbers   = kind{name: "a number type", types: slices.Concat(floats.types, integers.types)}
	booleans  = kind{name: "bool", types: []types.DType{types.Bool}}
	bitFields = kind{name: "an integer type or bool", types: slices.Concat(integers.types, booleans.types)}
	anything  = kind{name: "any type", types: slices.Concat(numbers.types, booleans.types), nibbles: true}
)

// check reports an operand of a type that is not in k.
func (k kind) check(operand string, d types.DType) error {
	if !slices.Contains(k.types, d) && !(k.nibbles && d.IsNibble()) {
		return fmt.Errorf("%s is %s; it must be %s", operand, d, k.name)
	}
	return nil
}

// of is an element type of kind k.
func (d draw) of(k kind) types.DType {
	if d.coin(2) {
		return k.types[0]
	}
	return d.dtype(k.types...)
}

// sameDType checks that all operands have one element type of kind k.
func sameDType(k kind, names []string, in []op.Arg) error {
	for i, a := range in {
		if err := k.check(names[i], a.DType); err != nil {
			return err
		}
		if a.DType != in[0].DType {
			return fmt.Errorf("%s is %s but %s is %s; the types must be equal", names[0], in[0].DType, names[i], a.DType)
		}
	}
	return nil
}

// narrow lists the types whose values float32 holds: the weights of a product of float32 may have them, each is widened where
// it is read.
var narrow = []types.DType{types.I4, types.U4, types.I8, types.U8, types.F16, types.BF16, types.I16, types.U16}

// withNarrowWeight checks that data and weight have one type of numbers, or the weight a narrow one.
func withNarrowWeight(names []string, in []op.Arg) error {
	if in[0].DType == types.F32 && slices.Contains(narrow, in[1].DType) {
		return nil
	}
	return sameDType(numbers, names, in)
}

// narrower is an element type that the weight of a product of data of type t may have: most often t.
func (d draw) narrower(t types.DType) types.DType {
	if t == types.F32 && d.coin(3) {
		return d.dtype(narrow...)
	}
	return t
}

// wantShape checks the exact shape of an operand.
func wantShape(operand string, a op.Arg, shape ...int) error {
	if slices.Equal(a.Shape, shape) {
		return nil
	}
	return fmt.Errorf("%s has shape %v; it must be %v", operand, a.Shape, shape)
}

// wantAxis checks that axis names an axis of a tensor of the given rank. Importers resolve negative axes.
func wantAxis(axis, rank int) error {
	if axis < 0 || axis >= rank {
		return fmt.Errorf("axis %d of a tensor of rank %d", axis, rank)
	}
	return nil
}

// wantAxes checks that axes are distinct axes of a tensor of the given rank.
func wantAxes(axes []int, rank int) error {
	for i, a := range axes {
		if err := wantAxis(a, rank); err != nil {
			return err
		}
		if slices.Contains(axes[:i], a) {
			return fmt.Errorf("axis %d twice in %v", a, axes)
		}
	}
	return nil
}

// wantEach checks that an attribute has n elements, each within [lo, hi].
func wantEach(name string, v []int, n, lo, hi int) error {
	if len(v) != n {
		return fmt.Errorf("%s has %s instead of %d", name, spelling.Count(len(v), "element"), n)
	}
	for _, x := range v {
		if x < lo || x > hi {
			return fmt.Errorf("%s %v: %d is not within [%d, %d]", name, v, x, lo, hi)
		}
	}
	return nil
}

// stretched is a shape that broadcasts to shape: leading axes dropped, some extents 1.
func (d draw) stretched(shape []int) []int {
	s := slices.Clone(shape)
	if d.coin(2) {
		s = s[d.IntN(len(s)+1):]
	}
	for i := range s {
		if d.coin(3) {
			s[i] = 1
		}
	}
	return s
}
