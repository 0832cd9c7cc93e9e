package model

import (
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Normal is a float32 tensor of normal random numbers.
func (b *Builder) Normal(deviation float64, shape ...int) *tensor.Tensor {
	v := make([]float32, types.Count(shape))
	for i := range v {
		v[i] = float32(deviation * b.random.NormFloat64())
	}
	return tensor.Of(shape, v)
}

// Uniform is a float32 tensor of numbers in [low, high).
func (b *Builder) Uniform(low, high float64, shape ...int) *tensor.Tensor {
	v := make([]float32, types.Count(shape))
	for i := range v {
		v[i] = float32(low + (high-low)*b.random.Float64())
	}
	return tensor.Of(shape, v)
}

// Integers is an int64 tensor of numbers in [0, high).
func (b *Builder) Integers(high int, shape ...int) *tensor.Tensor {
	v := make([]int64, types.Count(shape))
	for i := range v {
		v[i] = b.random.Int64N(int64(high))
	}
	return tensor.Of(shape, v)
}

// Bytes is a tensor of int8 in [-127, 127], or of uint8.
func (b *Builder) Bytes(d types.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Bytes() {
		if d == types.I8 {
			t.Bytes()[i] = byte(int8(b.random.IntN(255) - 127))
			continue
		}
		t.Bytes()[i] = byte(b.random.IntN(256))
	}
	return t
}

// Half is a float16 tensor of normal random numbers.
func (b *Builder) Half(deviation float64, shape ...int) *tensor.Tensor {
	t := tensor.New(types.F16, shape...)
	v := tensor.As[uint16](t)
	for i := range v {
		v[i] = tensor.F32ToF16(float32(deviation * b.random.NormFloat64()))
	}
	return t
}

// Bools is a tensor of which one in n is false.
func (b *Builder) Bools(n int, shape ...int) *tensor.Tensor {
	t := tensor.New(types.Bool, shape...)
	for i := range t.Bytes() {
		if b.random.IntN(n) > 0 {
			t.Bytes()[i] = 1
		}
	}
	return t
}
