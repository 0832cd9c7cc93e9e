package coreml

import (
	"errors"
	"fmt"

	"lathe/internal/compose"
	"lathe/internal/container/wire"
	"lathe/internal/frontend"
	"lathe/internal/graph"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A weight is a WeightParams message: floats of 32 or 16 bits, or numbers of 1 to 8 bits, packed from the highest bit on, that stand for
// scale*number + bias or for an entry of a table.
type weight struct {
	f32, f16, raw []byte
	bits          int
	scale, bias   []float64
	table         []float64
}

func weightOf(msg []byte) (w weight, err error) {
	err = wire.Read(msg, wire.Fields{
		1: func(f wire.Field) error {
			if w.f32 != nil || f.Data == nil {
				return errors.New("floats in several pieces are not supported")
			}
			w.f32 = f.Data
			return nil
		},
		2: wire.Bytes(&w.f16), 30: wire.Bytes(&w.raw),
		31: func(wire.Field) error { return errors.New("weights of int8 for quantised data are not supported") },
		40: wire.Message(wire.Fields{ // QuantizationParams
			1:   wire.Int(&w.bits),
			101: wire.Message(wire.Fields{1: wire.Floats(&w.scale), 2: wire.Floats(&w.bias)}),
			102: wire.Message(wire.Fields{1: wire.Floats(&w.table)}),
		}),
	})
	return w, err
}

// elements is how many values there are; of packed ones this is the most that fit.
func (w *weight) elements() int {
	switch {
	case w.f32 != nil:
		return len(w.f32) / 4
	case w.f16 != nil:
		return len(w.f16) / 2
	case w.bits > 0:
		return len(w.raw) * 8 / w.bits
	}
	return 0
}

// param is the weight as a vector of float32.
func (w *weight) param(name string) frontend.Param {
	n := w.elements()
	return frontend.Param{Name: name, Elements: int64(n), Bytes: int64(len(w.f32) + len(w.f16) + len(w.raw)), Value: func(b *compose.Builder) (v *graph.Value, err error) {
		switch {
		case w.f32 != nil && len(w.f32)%4 == 0:
			x, err := tensor.Wrap(types.F32, []int{n}, w.f32)
			if err != nil {
				return nil, err
			}
			return compose.Const(x), nil
		case w.f32 == nil && w.f16 != nil && len(w.f16)%2 == 0:
			x, err := tensor.Wrap(types.F16, []int{n}, w.f16)
			if err != nil {
				return nil, err
			}
			err = compose.Try(func() { v = b.Cast(compose.Const(x), types.F32) })
			return v, err
		case w.f32 == nil && w.f16 == nil && w.raw != nil:
			err = compose.Try(func() { v = w.unpacked(b, n) })
			return v, err
		}
		return nil, fmt.Errorf("%q: weights of no known kind", name)
	}}
}

// unpacked are the numbers by the table, or as they are where a scale follows: see call.weight.
func (w *weight) unpacked(b *compose.Builder, n int) *graph.Value {
	if w.bits < 1 || w.bits > 8 {
		compose.Fail("weights of %d bits are not supported; 1 to 8 are", w.bits)
	}
	if w.table != nil && len(w.table) != 1<<w.bits {
		compose.Fail("a table of %d values for %d bits", len(w.table), w.bits)
	}
	x := b.Zeros(types.F32, n)
	values := tensor.As[float32](x)
	at := 0
	for i := range values {
		number := 0
		for range w.bits {
			number = number<<1 | int(w.raw[at/8]>>(7-at%8)&1)
			at++
		}
		if w.table != nil {
			values[i] = float32(w.table[number])
		} else {
			values[i] = float32(number)
		}
	}
	return compose.Const(x)
}
