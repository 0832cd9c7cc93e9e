package tensorflow

import (
	"fmt"

	"lathe/internal/types"
)

// A dataType is a DataType (types.proto).
type dataType uint64

const (
	typeString   dataType = 7
	typeResource dataType = 20
	typeVariant  dataType = 21
	asReference  dataType = 100 // added to the type of what a variable of old graphs gives
)

// dataTypes are the types that graphs have. Quantised ones are the integers that hold them.
var dataTypes = map[dataType]types.DType{
	1: types.F32, 2: types.F64, 3: types.I32, 4: types.U8, 5: types.I16, 6: types.I8, 9: types.I64, 10: types.Bool,
	11: types.I8, 12: types.U8, 13: types.I32, 14: types.BF16, 15: types.I16, 16: types.U16, 17: types.U16, 19: types.F16, 22: types.U32, 23: types.U64,
}

const typeComplex64, typeComplex128 dataType = 8, 18

// complex reports whether elements have a real and an imaginary part.
func (d dataType) complex() bool { return d.base() == typeComplex64 || d.base() == typeComplex128 }

var dataTypeNames = map[dataType]string{typeString: "string", typeComplex64: "complex64", typeComplex128: "complex128", typeResource: "resource", typeVariant: "variant"}

// base is the type itself where it is a reference to one.
func (d dataType) base() dataType {
	if d > asReference {
		return d - asReference
	}
	return d
}

func (d dataType) String() string {
	if t, ok := dataTypes[d.base()]; ok {
		return t.String()
	}
	if name, ok := dataTypeNames[d.base()]; ok {
		return name
	}
	return fmt.Sprintf("type %d", uint64(d))
}

// dtype is the element type, or why there is none.
func (d dataType) dtype() (types.DType, error) {
	if t, ok := dataTypes[d.base()]; ok {
		return t, nil
	}
	return types.Invalid, fmt.Errorf("elements of %s are not supported", d)
}
