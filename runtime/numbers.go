package runtime

import (
	"fmt"
	"math"

	"lathe/internal/bundle"
	"lathe/internal/tool/spelling"
)

// Numbers converts the elements of any type to float64, for printing and comparing; 64-bit integers are rounded.
func (t Tensor) Numbers() ([]float64, error) {
	switch t.DType {
	case "float32":
		return convert[float32](t)
	case "float64":
		return convert[float64](t)
	case "int8":
		return convert[int8](t)
	case "int16":
		return convert[int16](t)
	case "int32":
		return convert[int32](t)
	case "int64":
		return convert[int64](t)
	case "uint8":
		return convert[uint8](t)
	case "uint16":
		return convert[uint16](t)
	case "uint32":
		return convert[uint32](t)
	case "uint64":
		return convert[uint64](t)
	case "int4", "uint4":
		return t.nibbles()
	case "bool":
		return convert[uint8](Tensor{DType: "uint8", Shape: t.Shape, Data: t.Data})
	}
	for _, f := range smallFloats {
		if f.name == t.DType {
			return f.numbers(t)
		}
	}
	return nil, fmt.Errorf("tensor of %q cannot be converted to numbers", t.DType)
}

// nibbles are the elements of 4 bits, of which two share a byte, the first in the low bits.
func (t Tensor) nibbles() ([]float64, error) {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	if want, err := bundle.ByteSize(t.DType, t.Shape); err != nil || want != len(t.Data) {
		return nil, fmt.Errorf("tensor of %s %v has %s", t.DType, t.Shape, spelling.Count(len(t.Data), "byte"))
	}
	numbers := make([]float64, n)
	for i := range numbers {
		x := t.Data[i/2] >> (4 * (i % 2)) & 15
		if t.DType == "int4" {
			x = (x ^ 8) - 8
			numbers[i] = float64(int8(x))
			continue
		}
		numbers[i] = float64(x)
	}
	return numbers, nil
}

func convert[T float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](t Tensor) ([]float64, error) {
	values, err := Values[T](t)
	if err != nil {
		return nil, err
	}
	numbers := make([]float64, len(values))
	for i, v := range values {
		numbers[i] = float64(v)
	}
	return numbers, nil
}

// smallFloat is a floating-point format that Go has no type for: a sign, exponent bits and mantissa bits.
type smallFloat struct {
	name     string
	exp, man int
	bias     int
	special  specials
}

// specials says which codes are not numbers.
type specials int

const (
	ieee     specials = iota // largest exponent: infinities and NaN
	finite                   // NaN where all bits but the sign are set, no infinity
	unsigned                 // NaN at minus zero only, no infinity
)

// smallFloats are IEEE 754's half, bfloat16 and the 8-bit formats of ONNX.
var smallFloats = []smallFloat{
	{"float16", 5, 10, 15, ieee},
	{"bfloat16", 8, 7, 127, ieee},
	{"float8_e4m3fn", 4, 3, 7, finite},
	{"float8_e4m3fnuz", 4, 3, 8, unsigned},
	{"float8_e5m2", 5, 2, 15, ieee},
	{"float8_e5m2fnuz", 5, 2, 16, unsigned},
}

func (f smallFloat) numbers(t Tensor) ([]float64, error) {
	size, err := bundle.DTypeSize(t.DType)
	if err != nil {
		return nil, err
	}
	if len(t.Data)%size != 0 {
		return nil, fmt.Errorf("tensor of %s has %s", t.DType, spelling.Count(len(t.Data), "byte"))
	}
	numbers := make([]float64, len(t.Data)/size)
	for i := range numbers {
		code := uint32(t.Data[i*size])
		if size == 2 {
			code |= uint32(t.Data[i*size+1]) << 8
		}
		numbers[i] = f.decode(code)
	}
	return numbers, nil
}

func (f smallFloat) decode(code uint32) float64 {
	man := int(code & (1<<f.man - 1))
	exp := int(code >> f.man & (1<<f.exp - 1))
	negative := code>>(f.man+f.exp)&1 != 0
	top := exp == 1<<f.exp-1
	var v float64
	switch {
	case f.special == ieee && top && man == 0:
		v = math.Inf(1)
	case f.special == ieee && top,
		f.special == finite && top && man == 1<<f.man-1,
		f.special == unsigned && negative && exp == 0 && man == 0:
		return math.NaN()
	case exp == 0:
		v = math.Ldexp(float64(man), 1-f.bias-f.man)
	default:
		v = math.Ldexp(float64(man|1<<f.man), exp-f.bias-f.man)
	}
	if negative {
		return -v
	}
	return v
}
