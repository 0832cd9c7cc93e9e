// Package tensor holds dense host tensors: constants, test data and the values of the reference evaluator.
// Elements lie in plain row-major order, little-endian, whatever layout the compiled program uses; those of 4 bits two a byte, the
// first in the low bits.
package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"lathe/internal/types"
)

// A Tensor is an element type, a shape and the bytes of the elements, which may be made when they are first asked for. Tensors are not changed once shared.
type Tensor struct {
	DType types.DType
	Shape []int
	data  []byte
	later *later // what data is made by when it is asked for; nil: it is there
}

// New returns a tensor of zeros.
func New(d types.DType, shape ...int) *Tensor {
	return Over(d, shape, Bytes(d.Bytes(types.Count(shape))))
}

// NewOf returns a tensor of zeros of the logical type t.
func NewOf(t types.Tensor) *Tensor { return New(t.DType, t.Shape...) }

// Wrap returns a tensor over existing bytes, whose number must fit.
func Wrap(d types.DType, shape []int, data []byte) (*Tensor, error) {
	if want := d.Bytes(types.Count(shape)); want != len(data) {
		return nil, fmt.Errorf("%s needs %d bytes, not %d", types.Of(d, shape...), want, len(data))
	}
	return Over(d, shape, data), nil
}

// Over returns a tensor over existing bytes, which are known to be as many as it takes.
func Over(d types.DType, shape []int, data []byte) *Tensor {
	return &Tensor{DType: d, Shape: shape, data: data}
}

// Type is the tensor's type, in plain layout.
func (t *Tensor) Type() types.Tensor { return types.Tensor{DType: t.DType, Shape: t.Shape} }

// Len is the number of elements.
func (t *Tensor) Len() int { return types.Count(t.Shape) }

// Element lists the Go types that hold one element each; 16-bit floats are uint16 bit patterns.
type Element interface {
	~bool | ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// As views the elements as a slice of T, whose size must be the element's.
func As[T Element](t *Tensor) []T {
	var z T
	if int(unsafe.Sizeof(z)) != t.DType.Size() || t.DType.IsNibble() {
		panic(fmt.Sprintf("tensor: %s viewed as %T", t.DType, z))
	}
	if t.Size() == 0 {
		return nil
	}
	p := unsafe.Pointer(&t.Bytes()[0])
	if uintptr(p)%unsafe.Alignof(z) != 0 {
		c := make([]T, t.Len())
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&c[0])), t.Size()), t.Bytes())
		return c
	}
	return unsafe.Slice((*T)(p), t.Len())
}

// Elements views bytes as elements, at any address: in a model file they lie as they come, and the processors that compile load such too.
func Elements[T uint8 | uint16 | uint32 | uint64](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	var z T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(z)))
}

// Of makes a tensor from a slice. T decides the element type.
func Of[T Element](shape []int, v []T) *Tensor {
	var d types.DType
	switch any(v).(type) {
	case []bool:
		d = types.Bool
	case []int8:
		d = types.I8
	case []int16:
		d = types.I16
	case []int32:
		d = types.I32
	case []int64:
		d = types.I64
	case []uint8:
		d = types.U8
	case []uint16:
		d = types.U16
	case []uint32:
		d = types.U32
	case []uint64:
		d = types.U64
	case []float32:
		d = types.F32
	case []float64:
		d = types.F64
	}
	t := New(d, shape...)
	copy(As[T](t), v)
	return t
}

// Scalar is a tensor of rank 0.
func Scalar[T Element](v T) *Tensor { return Of([]int{}, []T{v}) }

// Float returns element i as a float64. Integers beyond 2^53 lose precision: see Int.
func (t *Tensor) Float(i int) float64 {
	switch t.DType {
	case types.F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(t.Bytes()[4*i:])))
	case types.F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(t.Bytes()[8*i:]))
	case types.F16:
		return float64(F16ToF32(binary.LittleEndian.Uint16(t.Bytes()[2*i:])))
	case types.BF16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.Bytes()[2*i:])) << 16))
	case types.U64:
		return float64(uint64(t.Int(i)))
	}
	return float64(t.Int(i))
}

// Int returns element i of an integer or Bool tensor; U64 as the int64 of the same bits. Floats are truncated.
func (t *Tensor) Int(i int) int64 {
	switch d := t.Bytes(); t.DType {
	case types.Bool, types.U8:
		return int64(d[i])
	case types.I8:
		return int64(int8(d[i]))
	case types.I16:
		return int64(int16(binary.LittleEndian.Uint16(d[2*i:])))
	case types.U16:
		return int64(binary.LittleEndian.Uint16(d[2*i:]))
	case types.I32:
		return int64(int32(binary.LittleEndian.Uint32(d[4*i:])))
	case types.U32:
		return int64(binary.LittleEndian.Uint32(d[4*i:]))
	case types.I64, types.U64:
		return int64(binary.LittleEndian.Uint64(d[8*i:]))
	case types.I4:
		return int64(int8(d[i/2]<<(4-4*(i%2))) >> 4)
	case types.U4:
		return int64(d[i/2] >> (4 * (i % 2)) & 15)
	}
	return int64(t.Float(i))
}

// SetFloat stores v as element i: rounded to nearest even for floats, saturated and truncated for integers.
func (t *Tensor) SetFloat(i int, v float64) {
	switch d := t.Bytes(); t.DType {
	case types.F32:
		binary.LittleEndian.PutUint32(d[4*i:], math.Float32bits(float32(v)))
	case types.F64:
		binary.LittleEndian.PutUint64(d[8*i:], math.Float64bits(v))
	case types.F16:
		binary.LittleEndian.PutUint16(d[2*i:], F32ToF16(float32(v)))
	case types.BF16:
		binary.LittleEndian.PutUint16(d[2*i:], F32ToBF16(float32(v)))
	case types.U64:
		t.SetInt(i, int64(saturateU64(v)))
	default:
		lo, hi := t.DType.IntRange()
		switch {
		case v != v:
			t.SetInt(i, 0)
		case v <= float64(lo):
			t.SetInt(i, lo)
		case v >= float64(hi):
			t.SetInt(i, hi)
		default:
			t.SetInt(i, int64(v))
		}
	}
}

// SetInt stores v as element i: integers wrap, Bool is v != 0, floats are converted.
func (t *Tensor) SetInt(i int, v int64) {
	switch d := t.Bytes(); t.DType.Size() {
	case 1:
		if t.DType.IsNibble() {
			shift := 4 * (i % 2)
			d[i/2] = d[i/2]&^(15<<shift) | byte(v&15)<<shift
			return
		}
		if t.DType == types.Bool && v != 0 {
			v = 1
		}
		d[i] = byte(v)
	default:
		if t.DType.IsFloat() {
			t.SetFloat(i, float64(v))
			return
		}
		switch t.DType.Size() {
		case 2:
			binary.LittleEndian.PutUint16(d[2*i:], uint16(v))
		case 4:
			binary.LittleEndian.PutUint32(d[4*i:], uint32(v))
		case 8:
			binary.LittleEndian.PutUint64(d[8*i:], uint64(v))
		}
	}
}

// Ints returns all elements of an integer tensor.
func (t *Tensor) Ints() []int {
	v := make([]int, t.Len())
	for i := range v {
		v[i] = int(t.Int(i))
	}
	return v
}

// Reshape returns the same elements under another shape with as many elements.
func (t *Tensor) Reshape(shape ...int) *Tensor {
	if types.Count(shape) != t.Len() {
		panic(fmt.Sprintf("tensor: reshape of %v to %v", t.Shape, shape))
	}
	if t.later != nil && t.later.steps != nil {
		return Later(t.DType, shape, t, "", func(out []byte) { copy(out, t.Bytes()) })
	}
	return &Tensor{t.DType, shape, t.data, t.later}
}

func saturateU64(v float64) uint64 {
	switch {
	case v != v || v <= 0:
		return 0
	case v >= 1<<64:
		return math.MaxUint64
	}
	return uint64(v)
}

// Inverse is 1/t for one element, or nil where that is no normal number of float32.
func (t *Tensor) Inverse() *Tensor {
	x := float64(float32(1 / t.Float(0)))
	if math.IsInf(x, 0) || !(math.Abs(x) >= 0x1p-126) {
		return nil
	}
	inverse := NewOf(t.Type())
	inverse.SetFloat(0, x)
	return inverse
}
