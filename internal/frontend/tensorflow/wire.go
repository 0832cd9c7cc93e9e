package tensorflow

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// errWire is of bytes that are no protobuf message.
var errWire = errors.New("damaged, cut short, or no file of TensorFlow")

// A field is one of a message: the bytes of those that have a length, the bits of others.
type field struct {
	num  protowire.Number
	data []byte // in place
	bits uint64
}

// each calls f with the fields of a message.
func each(msg []byte, f func(x field) error) error {
	for len(msg) > 0 {
		num, typ, n := protowire.ConsumeTag(msg)
		if n < 0 {
			return errWire
		}
		msg = msg[n:]
		x := field{num: num}
		switch typ {
		case protowire.BytesType:
			x.data, n = protowire.ConsumeBytes(msg)
			x.data = x.data[:len(x.data):len(x.data)]
		case protowire.VarintType:
			x.bits, n = protowire.ConsumeVarint(msg)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(msg)
			x.bits = uint64(v)
		case protowire.Fixed64Type:
			x.bits, n = protowire.ConsumeFixed64(msg)
		default:
			n = protowire.ConsumeFieldValue(num, typ, msg)
		}
		if n < 0 {
			return errWire
		}
		if err := f(x); err != nil {
			return err
		}
		msg = msg[n:]
	}
	return nil
}

// varints calls f with the numbers of a repeated field, which stand alone or packed.
func (x field) varints(f func(v uint64) error) error {
	if x.data == nil {
		return f(x.bits)
	}
	for rest := x.data; len(rest) > 0; {
		v, n := protowire.ConsumeVarint(rest)
		if n < 0 {
			return errWire
		}
		if err := f(v); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// fixed calls f with the elements, of a size in bytes, of a repeated field, which stand alone or packed.
func (x field) fixed(size int, f func(bits uint64) error) error {
	if x.data == nil {
		return f(x.bits)
	}
	if len(x.data)%size != 0 {
		return errWire
	}
	for rest := x.data; len(rest) > 0; rest = rest[size:] {
		var bits uint64
		for k := size - 1; k >= 0; k-- {
			bits = bits<<8 | uint64(rest[k])
		}
		if err := f(bits); err != nil {
			return err
		}
	}
	return nil
}
