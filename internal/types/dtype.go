// Package types describes tensor values: element type, shape and physical layout.
// It knows no operator and holds no data.
package types

import "fmt"

// A DType is an element type. F16 and BF16 are storage types: arithmetic on them happens in F32.
type DType uint8

const (
	Invalid DType = iota
	Bool          // one byte, 0 or 1
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F16
	BF16
	F32
	F64
)

var dtypes = [...]struct {
	name string
	size int
}{
	Invalid: {"invalid", 0},
	Bool:    {"bool", 1},
	I8:      {"int8", 1}, I16: {"int16", 2}, I32: {"int32", 4}, I64: {"int64", 8},
	U8: {"uint8", 1}, U16: {"uint16", 2}, U32: {"uint32", 4}, U64: {"uint64", 8},
	F16: {"float16", 2}, BF16: {"bfloat16", 2}, F32: {"float32", 4}, F64: {"float64", 8},
}

// String returns the name numpy and TVM use, such as "float32".
func (d DType) String() string { return dtypes[d].name }

// Size is the number of bytes of one element.
func (d DType) Size() int { return dtypes[d].size }

// Bits is the width of the value range: 1 for Bool.
func (d DType) Bits() int {
	if d == Bool {
		return 1
	}
	return 8 * d.Size()
}

func (d DType) IsFloat() bool    { return d >= F16 }
func (d DType) IsSigned() bool   { return d >= I8 && d <= I64 }
func (d DType) IsUnsigned() bool { return d >= U8 && d <= U64 }
func (d DType) IsInt() bool      { return d >= I8 && d <= U64 }

// Compute is the type arithmetic on d happens in: F32 for the 16-bit floats, d itself otherwise.
func (d DType) Compute() DType {
	if d == F16 || d == BF16 {
		return F32
	}
	return d
}

// IntRange is the least and greatest value of an integer type or Bool. U64 is clipped to int64.
func (d DType) IntRange() (lo, hi int64) {
	switch {
	case d == Bool:
		return 0, 1
	case d == U64:
		return 0, 1<<63 - 1
	case d.IsUnsigned():
		return 0, 1<<d.Bits() - 1
	case d.IsSigned():
		return -1 << (d.Bits() - 1), 1<<(d.Bits()-1) - 1
	}
	panic("types: IntRange of " + d.String())
}

// DTypes lists the valid element types in their order.
func DTypes() []DType {
	all := make([]DType, 0, len(dtypes)-1)
	for d := Bool; int(d) < len(dtypes); d++ {
		all = append(all, d)
	}
	return all
}

// ParseDType reads a name as String prints it.
func ParseDType(s string) (DType, error) {
	for _, d := range DTypes() {
		if d.String() == s {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("unknown element type %q", s)
}
