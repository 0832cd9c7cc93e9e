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
			var data []byte
			data, n = protowire.ConsumeBytes(msg)
			if field.Data = data[:len(data):len(data)]; field.Data == nil {
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

// Varints calls f with the numbers of a repeated field, which stand alone or packed.
func (f Field) Varints(visit func(v uint64) error) error {
	if f.Data == nil {
		return visit(f.Bits)
	}
	for data := f.Data; len(data) > 0; {
		v, n := protowire.ConsumeVarint(data)
		if n < 0 {
			return ErrDamaged
		}
		if err := visit(v); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// Fixed calls f with the elements, of size bytes, of a repeated field, which stand alone or packed.
func (f Field) Fixed(size int, visit func(bits uint64) error) error {
	if f.Data == nil {
		return visit(f.Bits)
	}
	if len(f.Data)%size != 0 {
		return fmt.Errorf("elements of %d bytes in %d", size, len(f.Data))
	}
	for data := f.Data; len(data) > 0; data = data[size:] {
		var bits uint64
		for k := size - 1; k >= 0; k-- {
			bits = bits<<8 | uint64(data[k])
		}
		if err := visit(bits); err != nil {
			return err
		}
	}
	return nil
}

// Ints are the numbers of a repeated field.
func (f Field) Ints() (list []int64, err error) {
	err = f.Varints(func(v uint64) error {
		list = append(list, int64(v))
		return nil
	})
	return list, err
}

// Floats are the floats of a repeated field of size bytes each, 4 or 8.
func (f Field) Floats(size int) (list []float64, err error) {
	err = f.Fixed(size, func(bits uint64) error {
		x := Field{Bits: bits}
		if size == 8 {
			list = append(list, x.Double())
		} else {
			list = append(list, x.Float())
		}
		return nil
	})
	return list, err
}
