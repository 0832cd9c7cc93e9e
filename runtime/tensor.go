package runtime

import (
	"fmt"
	"slices"
	"unsafe"

	"lathe/internal/bundle"
	"lathe/internal/tool/spelling"
)

// Tensor is a dense, row-major tensor. DType is a name as numpy and TVM have it: float32, float16, bfloat16, float64,
// int8 to int64, uint8 to uint64, bool (one byte, 0 or 1), int4 and uint4 (two share a byte, the first in the low bits). Data has the elements in the machine's byte order.
type Tensor struct {
	DType string
	Shape []int
	Data  []byte
}

// Element is a Go type with the same layout as an element type.
type Element interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | bool
}

// DTypeOf returns the element type of T by name.
func DTypeOf[T Element]() string {
	var v T
	return fmt.Sprintf("%T", v)
}

// NewTensor returns a tensor whose Data is the memory of values; shape must have as many elements.
func NewTensor[T Element](values []T, shape ...int) (Tensor, error) {
	dtype := DTypeOf[T]()
	n, err := bundle.ByteSize(dtype, shape)
	if err != nil {
		return Tensor{}, fmt.Errorf("tensor: %w", err)
	}
	var v T
	data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(v)))
	if len(data) != n {
		return Tensor{}, fmt.Errorf("tensor: %s for shape %v", spelling.Count(len(values), "value"), shape)
	}
	return Tensor{DType: dtype, Shape: slices.Clone(shape), Data: data}, nil
}

// Values returns the elements of t as a view of its Data; data that is not aligned for T is copied. It is an error when t
// has another element type.
func Values[T Element](t Tensor) ([]T, error) {
	var v T
	size := int(unsafe.Sizeof(v))
	if t.DType != DTypeOf[T]() {
		return nil, fmt.Errorf("tensor holds %s, not %s", t.DType, DTypeOf[T]())
	}
	if len(t.Data)%size != 0 {
		return nil, fmt.Errorf("tensor of %s has %s", t.DType, spelling.Count(len(t.Data), "byte"))
	}
	data := t.Data
	if len(data) == 0 {
		return []T{}, nil
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(size) != 0 {
		values := make([]T, len(data)/size)
		copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(data)), data)
		return values, nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/size), nil
}

// Float32s is Values[float32].
func (t Tensor) Float32s() ([]float32, error) { return Values[float32](t) }

// Int64s is Values[int64].
func (t Tensor) Int64s() ([]int64, error) { return Values[int64](t) }

// Int32s is Values[int32].
func (t Tensor) Int32s() ([]int32, error) { return Values[int32](t) }

// Int8s is Values[int8].
func (t Tensor) Int8s() ([]int8, error) { return Values[int8](t) }

// Uint8s is Values[uint8].
func (t Tensor) Uint8s() ([]uint8, error) { return Values[uint8](t) }

// Bools is Values[bool]: every byte must be 0 or 1.
func (t Tensor) Bools() ([]bool, error) {
	for _, b := range t.Data {
		if b > 1 {
			return nil, fmt.Errorf("tensor of bool holds a byte %d", b)
		}
	}
	return Values[bool](t)
}

// Clone returns a copy that does not share memory with t.
func (t Tensor) Clone() Tensor {
	return Tensor{DType: t.DType, Shape: slices.Clone(t.Shape), Data: slices.Clone(t.Data)}
}
