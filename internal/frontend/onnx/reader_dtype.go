package onnx

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// A DType is an element type by its number in TensorProto.DataType.
type DType int32

const (
	Float          DType = 1
	Uint8          DType = 2
	Int8           DType = 3
	Uint16         DType = 4
	Int16          DType = 5
	Int32          DType = 6
	Int64          DType = 7
	String         DType = 8
	Bool           DType = 9
	Float16        DType = 10
	Double         DType = 11
	Uint32         DType = 12
	Uint64         DType = 13
	Complex64      DType = 14
	Complex128     DType = 15
	BFloat16       DType = 16
	Float8E4M3FN   DType = 17
	Float8E4M3FNUZ DType = 18
	Float8E5M2     DType = 19
	Float8E5M2FNUZ DType = 20
	Uint4          DType = 21
	Int4           DType = 22
	Float4E2M1     DType = 23
	Float8E8M0     DType = 24
	Uint2          DType = 25
	Int2           DType = 26
)

// Fields of TensorProto that hold elements.
const (
	floatData  protowire.Number = 4
	int32Data  protowire.Number = 5
	stringData protowire.Number = 6
	int64Data  protowire.Number = 7
	rawData    protowire.Number = 9
	doubleData protowire.Number = 10
	uint64Data protowire.Number = 11
)

// dtypes gives each element type's name as numpy and ml_dtypes spell it, its width, and the field that holds its
// elements where raw_data does not.
var dtypes = [...]struct {
	name  string
	bits  int
	field protowire.Number
}{
	Float: {"float32", 32, floatData}, Double: {"float64", 64, doubleData},
	Float16: {"float16", 16, int32Data}, BFloat16: {"bfloat16", 16, int32Data},
	Int8: {"int8", 8, int32Data}, Int16: {"int16", 16, int32Data}, Int32: {"int32", 32, int32Data}, Int64: {"int64", 64, int64Data},
	Uint8: {"uint8", 8, int32Data}, Uint16: {"uint16", 16, int32Data}, Uint32: {"uint32", 32, uint64Data}, Uint64: {"uint64", 64, uint64Data},
	Bool: {"bool", 8, int32Data}, String: {"string", 0, stringData},
	Complex64: {"complex64", 64, floatData}, Complex128: {"complex128", 128, doubleData},
	Float8E4M3FN: {"float8_e4m3fn", 8, int32Data}, Float8E4M3FNUZ: {"float8_e4m3fnuz", 8, int32Data},
	Float8E5M2: {"float8_e5m2", 8, int32Data}, Float8E5M2FNUZ: {"float8_e5m2fnuz", 8, int32Data}, Float8E8M0: {"float8_e8m0fnu", 8, int32Data},
	Float4E2M1: {"float4_e2m1fn", 4, int32Data}, Uint4: {"uint4", 4, int32Data}, Int4: {"int4", 4, int32Data},
	Uint2: {"uint2", 2, int32Data}, Int2: {"int2", 2, int32Data},
}

// dtypeOf makes a number read from a file a DType; numbers out of range become an invalid one.
func dtypeOf(v int64) DType {
	if v < 0 || v > math.MaxInt32 {
		return -1
	}
	return DType(v)
}

// Valid reports whether the number names an element type.
func (t DType) Valid() bool { return t > 0 && int(t) < len(dtypes) }

// String is the name as numpy and ml_dtypes spell it, such as "float32" or "int4".
func (t DType) String() string {
	if !t.Valid() {
		return fmt.Sprintf("element type %d", int32(t))
	}
	return dtypes[t].name
}

// Bits is the width of one element in memory: 8 for Bool, 0 for String.
func (t DType) Bits() int { return dtypes[t].bits }
