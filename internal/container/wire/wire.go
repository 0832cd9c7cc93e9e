// Package wire walks protobuf messages by field numbers, for formats of which a few fields matter.
package wire

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrDamaged is the error of bytes that are no message.
var ErrDamaged = errors.New("it is damaged, cut short, or no protobuf message")

// A Field is one field of a message.
type Field struct {
	Number int
	Data   []byte // of a field with a length, a view of the message; nil for a number
	Bits   uint64 // of a number
}

// Each calls f with the fields of a message, and ends at its first error. Groups are stepped over.
func Each(msg []byte, f func(Field) error) error {
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return ErrDamaged
		}
		msg = msg[n:]
		field := Field{Number: int(num)}
		switch typ {
		case protowire.BytesType:
			if field.Data, n = protowire.ConsumeBytes(msg); n >= 0 && field.Data == nil {
				field.Data = []byte{}
			}
		case protowire.VarintType:
			field.Bits, n = protowire.ConsumeVarint(msg)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(msg)
			field.Bits = uint64(v)
		case protowire.Fixed64Type:
			field.Bits, n = protowire.ConsumeFixed64(msg)
		default:
			n = protowire.ConsumeFieldValue(num, typ, msg)
		}
		if n < 0 {
			return ErrDamaged
		}
		msg = msg[n:]
		if err := f(field); err != nil {
			return err
		}
	}
	return nil
}

// Text is the field as a string.
func (f Field) Text() string { return string(f.Data) }

// Int is the field as a signed number.
func (f Field) Int() int64 { return int64(f.Bits) }

// Bool is the field as a truth value.
func (f Field) Bool() bool { return f.Bits != 0 }

// Float is the field as a float of 32 bits.
func (f Field) Float() float64 { return float64(math.Float32frombits(uint32(f.Bits))) }

// Double is the field as a float of 64 bits.
func (f Field) Double() float64 { return math.Float64frombits(f.Bits) }

// Ints are the numbers of a repeated field: one, or all of them packed.
func (f Field) Ints() ([]int64, error) {
	if f.Data == nil {
		return []int64{f.Int()}, nil
	}
	var list []int64
	for data := f.Data; len(data) > 0; {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return nil, ErrDamaged
		}
		list, data = append(list, int64(v)), data[n:]
	}
	return list, nil
}

// Floats are the floats of a repeated field of size bytes each, 4 or 8: one, or all of them packed.
func (f Field) Floats(size int) ([]float64, error) {
	if f.Data == nil {
		if size == 8 {
			return []float64{f.Double()}, nil
		}
		return []float64{f.Float()}, nil
	}
	if len(f.Data)%size != 0 {
		return nil, fmt.Errorf("floats of %d bytes in %d", size, len(f.Data))
	}
	var list []float64
	for data := f.Data; len(data) > 0; data = data[size:] {
		var v uint64
		if size == 8 {
			v, _ = protowire.ConsumeFixed64(data)
			list = append(list, math.Float64frombits(v))
		} else {
			w, _ := protowire.ConsumeFixed32(data)
			list = append(list, float64(math.Float32frombits(w)))
		}
	}
	return list, nil
}
