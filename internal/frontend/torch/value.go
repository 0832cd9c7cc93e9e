package torch

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"lathe/internal/compose"
	"lathe/internal/graph"
	hosttensor "lathe/internal/tensor"
	"lathe/internal/types"
)

// A value is what code computes with: nil (None), bool, int64, float64, string, tuple, *list, *dict, *object, *tensor, *packed, or
// something that can be called. A number that depends on data is a *tensor without axes.
type value any

type (
	tuple []value
	list  struct {
		items []value
		born  int
	}
	dict struct {
		keys, values []value
		born         int
	}
	// An object is an instance of a class of the code, at a path of attributes from the model.
	object struct {
		class *class
		path  string
		attrs map[string]value
		born  int
	}
	// A method is a function with the object that it is called on.
	method struct {
		self *object
		*function
	}
	// A builtin is an operator of torch, such as aten.conv2d.
	builtin struct{ name string }
	// A reference is a dotted name that begins with a name of a package.
	reference struct{ path string }
	// A function of a list, text or tensor value itself, such as x.append.
	member struct {
		self value
		name string
	}
)

// get finds a key of a dictionary.
func (d *dict) get(k value) (value, bool) {
	for i, have := range d.keys {
		if same(have, k) {
			return d.values[i], true
		}
	}
	return nil, false
}

func (d *dict) set(k, v value) {
	for i, have := range d.keys {
		if same(have, k) {
			d.values[i] = v
			return
		}
	}
	d.keys, d.values = append(d.keys, k), append(d.values, v)
}

// maxCompared bounds how many values are compared to tell whether two are equal: tuples can hold each other many times over.
const maxCompared = 1 << 20

// same reports whether two values are equal; tensors and objects are where they are the same one.
func same(a, b value) bool {
	left := maxCompared
	return equalValues(a, b, &left)
}

func equalValues(a, b value, left *int) bool {
	if *left--; *left < 0 {
		fail("values of more than %d parts are compared", maxCompared)
	}
	switch x := a.(type) {
	case tuple:
		y, ok := b.(tuple)
		return ok && sameItems(x, y, left)
	case *list:
		y, ok := b.(*list)
		return ok && (x == y || sameItems(x.items, y.items, left))
	case int64, float64, bool:
		p, ok1 := number(a)
		q, ok2 := number(b)
		return ok1 && ok2 && p == q
	}
	if _, ok := b.(tuple); ok {
		return false
	}
	return a == b
}

func sameItems(x, y []value, left *int) bool {
	for i := range x {
		if i >= len(y) || !equalValues(x[i], y[i], left) {
			return false
		}
	}
	return len(x) == len(y)
}

// number is a Python number as a float64.
func number(v value) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// items are those of a list or tuple.
func items(v value) ([]value, bool) {
	switch x := v.(type) {
	case *named:
		return x.tuple, true
	case tuple:
		return x, true
	case *list:
		return x.items, true
	}
	return nil, false
}

// ints is a list of integers as a value.
func ints(n []int) *list {
	l := &list{}
	for _, v := range n {
		l.items = append(l.items, int64(v))
	}
	return l
}

// kind names what a value is, for messages.
func kind(v value) string {
	switch x := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64:
		return "an int"
	case float64:
		return "a float"
	case string:
		return "a text"
	case tuple:
		return "a tuple"
	case *list:
		return "a list"
	case *dict:
		return "a dictionary"
	case *object:
		return "a " + x.class.name
	case *tensor:
		return "a tensor"
	case *packed:
		return "packed parameters"
	case reference:
		return x.path
	}
	return "a function"
}

// text prints a value as Python does. Depth bounds how far it goes into containers.
func text(v value, depth int) string {
	if depth == 0 {
		return "..."
	}
	const shown = 20
	all := func(list []value) string {
		parts := make([]string, min(len(list), shown))
		for i := range parts {
			parts[i] = text(list[i], depth-1)
		}
		if len(list) > shown {
			parts = append(parts, "...")
		}
		return strings.Join(parts, ", ")
	}
	switch x := v.(type) {
	case nil:
		return "None"
	case bool:
		if x {
			return "True"
		}
		return "False"
	case float64:
		s := strconv.FormatFloat(x, 'g', -1, 64)
		if x == math.Trunc(x) && !strings.ContainsAny(s, "e.IN") {
			s += ".0"
		}
		return s
	case string:
		return x
	case tuple:
		return "(" + all(x) + ")"
	case *list:
		return "[" + all(x.items) + "]"
	case int64:
		return strconv.FormatInt(x, 10)
	case *tensor:
		if x.v != nil {
			return "tensor " + x.v.Type.String()
		}
	}
	return kind(v)
}

// scalarTypes are the element types by the numbers that code has for them. Those of quantised tensors are what holds their integers.
var scalarTypes = map[int64]types.DType{0: types.U8, 1: types.I8, 2: types.I16, 3: types.I32, 4: types.I64, 5: types.F16, 6: types.F32, 7: types.F64, 11: types.Bool,
	12: types.I8, 13: types.U8, 14: types.I32, 15: types.BF16, 27: types.U16, 28: types.U32, 29: types.U64}

const (
	complexFloat  = 9 // the number of complex64
	quantizedInt8 = 12
	quantizedUint = 13
	quantizedWide = 14
)

// scalarType is the number of an element type.
func scalarType(d types.DType) int64 {
	for n, have := range scalarTypes {
		if have == d && (n < quantizedInt8 || n > quantizedWide) {
			return n
		}
	}
	panic("torch: " + d.String() + " has no number")
}

// typeOf is the number of a tensor's element type.
func typeOf(t *tensor, m *machine) int64 {
	switch {
	case t.complex:
		return complexFloat
	case t.quant != nil:
		return map[types.DType]int64{types.I8: quantizedInt8, types.U8: quantizedUint, types.I32: quantizedWide}[m.get(t).Type.DType]
	}
	return scalarType(m.get(t).Type.DType)
}

// dtypeOf is the element type that a number stands for.
func dtypeOf(v value) types.DType {
	n, ok := v.(int64)
	d := scalarTypes[n]
	if !ok || d == types.Invalid {
		compose.Fail("the element type %s is not supported", text(v, 2))
	}
	return d
}

// literal is a Python number as a constant: floats are float32, PyTorch's default, ints int64.
func literal(v value) *graph.Value {
	switch x := v.(type) {
	case bool:
		f, _ := number(x)
		return compose.Number(types.Bool, f)
	case int64:
		return whole(x)
	case float64:
		return compose.Number(types.F32, x)
	}
	compose.Fail("%s where a number or a tensor has to be", kind(v))
	return nil
}

// fail stops the import: the code cannot go on.
func fail(format string, args ...any) { compose.Fail(format, args...) }

// quoted is a text for messages.
func quoted(s string) string { return fmt.Sprintf("%.200q", s) }

// whole is an int64 constant without axes.
func whole(n int64) *graph.Value { return compose.Const(hosttensor.Scalar(n)) }
