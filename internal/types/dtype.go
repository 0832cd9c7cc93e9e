// Package types describes tensor values: element type, shape and physical layout.
// It knows no operator and holds no data.
package types

import "fmt"

// A DType is an element type. F16 and BF16 are storage types: arithmetic on them happens in F32. So are I4 and U4, of which two
// share a byte, the first in its low bits, and whose arithmetic happens in I32.
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
	I4
	U4
)

var dtypes = [...]struct {
	name string
	bits int // in memory
}{
	Invalid: {"invalid", 0},
	Bool:    {"bool", 8},
	I8:      {"int8", 8}, I16: {"int16", 16}, I32: {"int32", 32}, I64: {"int64", 64},
	U8: {"uint8", 8}, U16: {"uint16", 16}, U32: {"uint32", 32}, U64: {"uint64", 64},
	F16: {"float16", 16}, BF16: {"bfloat16", 16}, F32: {"float32", 32}, F64: {"float64", 64},
	I4: {"int4", 4}, U4: {"uint4", 4},
}

// String returns the name numpy and TVM use, such as "float32".
func (d DType) String() string { return dtypes[d].name }

// Size is the number of bytes of one element; 1 for types of 4 bits, of which Bytes counts several.
func (d DType) Size() int { return (dtypes[d].bits + 7) / 8 }

// Bytes is the number of bytes that n elements take, one after the other.
func (d DType) Bytes(n int) int { return (n*dtypes[d].bits + 7) / 8 }

// Bits is the width of the value range: 1 for Bool.
func (d DType) Bits() int {
	if d == Bool {
		return 1
	}
	return dtypes[d].bits
}

func (d DType) IsFloat() bool    { return d >= F16 && d <= F64 }
func (d DType) IsSigned() bool   { return d >= I8 && d <= I64 || d == I4 }
func (d DType) IsUnsigned() bool { return d >= U8 && d <= U64 || d == U4 }
func (d DType) IsInt() bool      { return d >= I8 && d <= U64 || d.IsNibble() }

// IsNibble reports whether elements take 4 bits. Such tensors are constants and inputs: they are read and never written.
func (d DType) IsNibble() bool { return d == I4 || d == U4 }

// Compute is the type arithmetic on d happens in: F32 for the 16-bit floats, I32 for integers of 4 bits, d itself otherwise.
func (d DType) Compute() DType {
	switch d {
	case F16, BF16:
		return F32
	case I4, U4:
		return I32
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

// DTypes lists the element types of whole bytes in their order: those that are computed with, or written.
func DTypes() []DType {
	all := make([]DType, 0, len(dtypes)-1)
	for d := Bool; d <= F64; d++ {
		all = append(all, d)
	}
	return all
}

// ParseDType reads a name as String prints it.
func ParseDType(s string) (DType, error) {
	for d := Bool; int(d) < len(dtypes); d++ {
		if d.String() == s {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("unknown element type %q", s)
}
