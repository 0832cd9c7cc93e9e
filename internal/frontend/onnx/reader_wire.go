package onnx

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/tool/spelling"
)

// A room bounds what decoding may allocate. Two bytes of wire format can stand for a struct of a hundred, so each
// allocation is paid for before it is made. Models need little, since their bytes are weights and long names.
type room struct{ left int }

const (
	roomPerByte = 8        // memory per byte of input
	roomBase    = 15 << 20 // for files of structure only: 50 000 nodes of short names that keep their weights elsewhere
)

func newRoom(size int) *room { return &room{roomPerByte*size + roomBase} }

var errDense = errors.New("the file packs more parts into its bytes than any sensible model: damaged or made to harm")

func (r *room) take(n int) error {
	if n > r.left {
		return errDense
	}
	r.left -= n
	return nil
}

// reserve makes a slice of n elements if there is room for it.
func reserve[T any](r *room, n int) ([]T, error) {
	var t T
	if n == 0 {
		return nil, nil
	}
	if err := r.take(n * int(unsafe.Sizeof(t))); err != nil {
		return nil, err
	}
	return make([]T, n), nil
}

// A scanner walks the fields of one protobuf message. A field of the wrong wire type, or one that does not fit into
// the message, ends the walk with err set.
type scanner struct {
	room *room
	rest []byte
	err  error

	num  protowire.Number
	typ  protowire.Type
	bits uint64 // value of varint and fixed fields
	data []byte // value of length-delimited fields, in place
}

// next moves to the next field and reports whether there is one.
func (s *scanner) next() bool {
	if s.err != nil || len(s.rest) == 0 {
		return false
	}
	num, typ, n := protowire.ConsumeTag(s.rest)
	if n < 0 {
		return s.stop(errors.New("bytes that are no protobuf field: the file is damaged or not an ONNX file"))
	}
	s.num, s.typ, s.data, s.bits = num, typ, nil, 0
	s.rest = s.rest[n:]
	switch typ {
	case protowire.VarintType:
		s.bits, n = protowire.ConsumeVarint(s.rest)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(s.rest)
		s.bits = uint64(v)
	case protowire.Fixed64Type:
		s.bits, n = protowire.ConsumeFixed64(s.rest)
	case protowire.BytesType:
		if size, m := protowire.ConsumeVarint(s.rest); m > 0 && size > uint64(len(s.rest)-m) {
			return s.stop(fmt.Errorf("field %d claims %s where %d are left: the file is cut short or damaged",
				num, spelling.Count(size, "byte"), len(s.rest)-m))
		}
		s.data, n = protowire.ConsumeBytes(s.rest)
	default:
		n = protowire.ConsumeFieldValue(num, typ, s.rest)
	}
	if n < 0 {
		return s.stop(fmt.Errorf("field %d is cut short or damaged", num))
	}
	s.rest = s.rest[n:]
	return true
}

func (s *scanner) stop(err error) bool {
	if s.err == nil {
		s.err = err
	}
	return false
}

// check ends the walk where err is an error.
func (s *scanner) check(err error) {
	if err != nil {
		s.stop(err)
	}
}

func (s *scanner) want(typ protowire.Type) bool {
	return s.typ == typ || s.stop(fmt.Errorf("field %d has wire type %d, not %d", s.num, s.typ, typ))
}

// message is the field's bytes, in place.
func (s *scanner) message() []byte {
	s.want(protowire.BytesType)
	return s.data
}

// text is a copy of the field's bytes.
func (s *scanner) text() string {
	if !s.want(protowire.BytesType) {
		return ""
	}
	str, err := s.room.text(s.data)
	s.check(err)
	return str
}

// text copies bytes into a string, if there is room for it and the allocator's rounding.
func (r *room) text(b []byte) (string, error) {
	if err := r.take(len(b) + 8); err != nil {
		return "", err
	}
	return string(b), nil
}

func (s *scanner) int() int64 {
	s.want(protowire.VarintType)
	return int64(s.bits)
}

func (s *scanner) float() float32 {
	s.want(protowire.Fixed32Type)
	return math.Float32frombits(uint32(s.bits))
}

// A tally holds how often each field occurs in a message, so that slices are made once and in their size. ONNX uses
// field numbers below 32; others are not counted.
type tally [32]int

func count(msg []byte) (c tally, err error) {
	s := scanner{rest: msg}
	for s.next() {
		if int(s.num) < len(c) {
			c[s.num]++
		}
	}
	return c, s.err
}

// eachVarint calls f with the values of a repeated integer field, in the packed and the plain form.
func eachVarint(msg []byte, num protowire.Number, f func(uint64)) error {
	s := scanner{rest: msg}
	for s.next() {
		switch {
		case s.num != num:
		case s.typ == protowire.VarintType:
			f(s.bits)
		case s.want(protowire.BytesType):
			for packed := s.data; len(packed) > 0; {
				v, n := protowire.ConsumeVarint(packed)
				if n < 0 {
					return fmt.Errorf("field %d: a packed integer is cut short or damaged", num)
				}
				f(v)
				packed = packed[n:]
			}
		}
	}
	return s.err
}

// varints decodes a repeated int64 field.
func varints(r *room, msg []byte, num protowire.Number) ([]int64, error) {
	n := 0
	if err := eachVarint(msg, num, func(uint64) { n++ }); err != nil {
		return nil, err
	}
	out, err := reserve[int64](r, n)
	if err != nil {
		return nil, err
	}
	i := 0
	return out, eachVarint(msg, num, func(v uint64) { out[i] = int64(v); i++ })
}

// varintBytes decodes a repeated integer field into little-endian values of the given width in bytes.
func varintBytes(r *room, msg []byte, num protowire.Number, width int) ([]byte, error) {
	n := 0
	if err := eachVarint(msg, num, func(uint64) { n++ }); err != nil {
		return nil, err
	}
	out, err := reserve[byte](r, n*width)
	if err != nil {
		return nil, err
	}
	i := 0
	return out, eachVarint(msg, num, func(v uint64) {
		for b := range width {
			out[i+b] = byte(v >> (8 * b))
		}
		i += width
	})
}

// fixedBytes returns the little-endian bytes of a repeated float or double field. One packed run, the usual form, is
// returned in place.
func fixedBytes(r *room, msg []byte, num protowire.Number, width int) ([]byte, error) {
	single := protowire.Fixed32Type
	if width == 8 {
		single = protowire.Fixed64Type
	}
	total, runs, last := 0, 0, []byte(nil)
	s := scanner{rest: msg}
	for s.next() {
		switch {
		case s.num != num:
			continue
		case s.typ == single:
			total += width
			runs = 2
		case s.want(protowire.BytesType):
			total += len(s.data)
			runs++
			last = s.data
			if len(last)%width != 0 {
				return nil, fmt.Errorf("field %d: %s packed, no multiple of %d", num, spelling.Count(len(last), "byte"), width)
			}
		}
	}
	if s.err != nil || runs <= 1 {
		return last, s.err
	}
	out, err := reserve[byte](r, total)
	if err != nil {
		return nil, err
	}
	out = out[:0]
	for s = (scanner{rest: msg}); s.next(); {
		switch {
		case s.num != num:
		case s.typ == protowire.BytesType:
			out = append(out, s.data...)
		default:
			for b := range width {
				out = append(out, byte(s.bits>>(8*b)))
			}
		}
	}
	return out, s.err
}
