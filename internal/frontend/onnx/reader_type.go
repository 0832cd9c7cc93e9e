package onnx

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/frontend"
)

// A Kind says what a value is.
type Kind uint8

const (
	KindUnknown Kind = iota // the file gives no type
	KindTensor
	KindSequence
	KindMap
	KindOptional
	KindSparseTensor
	KindOpaque
)

func (k Kind) String() string {
	return [...]string{"unknown", "tensor", "sequence", "map", "optional", "sparse tensor", "opaque"}[k]
}

// A Type is a decoded TypeProto.
type Type struct {
	Kind   Kind
	Ranked bool  // the file gives a shape, Dims, which may be that of a scalar
	Elem   DType // of tensors; of a map its key type
	Dims   []Dim
	Of     *Type // element of a sequence or optional, value of a map
}

// String prints an element type, or what the value is instead of a tensor: optional(sequence(float32)).
func (t *Type) String() string {
	switch {
	case t.Kind == KindUnknown || t.Kind == KindTensor && t.Elem == 0:
		return "unknown"
	case t.Kind == KindTensor:
		return t.Elem.String()
	case t.Of != nil:
		return t.Kind.String() + "(" + t.Of.String() + ")"
	}
	return t.Kind.String()
}

// A Dim is a known extent, or a named or nameless unknown one.
type Dim = frontend.Dim

// A ValueInfo gives a value's name and what the file says about its type.
type ValueInfo struct {
	Name string
	Type
}

func (d *decoder) valueInfo(msg []byte, v *ValueInfo) error {
	s := d.scan(msg)
	for s.next() {
		switch s.num {
		case 1:
			v.Name = s.text()
		case 2:
			s.check(d.typeProto(s.message(), &v.Type))
		}
	}
	if s.err != nil {
		return fmt.Errorf("%q: %w", v.Name, s.err)
	}
	return nil
}

func (d *decoder) typeProto(msg []byte, t *Type) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	s := d.scan(msg)
	for s.next() {
		kind := KindUnknown
		switch s.num {
		case 1:
			kind = KindTensor
		case 4:
			kind = KindSequence
		case 5:
			kind = KindMap
		case 7:
			kind = KindOpaque
		case 8:
			kind = KindSparseTensor
		case 9:
			kind = KindOptional
		default:
			continue
		}
		if t.Kind != KindUnknown {
			return errors.New("the value has more than one type")
		}
		t.Kind = kind
		switch kind {
		case KindTensor, KindSparseTensor:
			s.check(d.tensorType(s.message(), t))
		case KindSequence, KindOptional:
			s.check(d.containerType(s.message(), 1, t))
		case KindMap:
			s.check(d.containerType(s.message(), 2, t))
		}
	}
	return s.err
}

func (d *decoder) tensorType(msg []byte, t *Type) error {
	s := d.scan(msg)
	for s.next() {
		switch s.num {
		case 1:
			t.Elem = dtypeOf(s.int())
		case 2:
			shape := s.message()
			if s.err != nil {
				break
			}
			t.Ranked = true
			var err error
			t.Dims, err = repeated(d, shape, 1, "dim", d.dim)
			s.check(err)
		}
	}
	if s.err == nil && t.Elem != 0 && !t.Elem.Valid() {
		return fmt.Errorf("element type %d is not one that this version knows", int32(t.Elem))
	}
	return s.err
}

// dim decodes one dimension. Some exporters write -1 where they mean an unknown extent.
func (d *decoder) dim(msg []byte, dim *Dim) error {
	dim.Value = -1
	s := d.scan(msg)
	for s.next() {
		switch s.num {
		case 1:
			dim.Value = max(s.int(), -1)
		case 2:
			dim.Param = s.text()
		}
	}
	return s.err
}

// containerType decodes a sequence, optional or map type, whose element is in field num. A map has its key type in
// field 1.
func (d *decoder) containerType(msg []byte, num protowire.Number, t *Type) error {
	s := d.scan(msg)
	for s.next() {
		switch {
		case s.num == num:
			of, err := reserve[Type](d.room, 1)
			if err != nil {
				return err
			}
			t.Of = &of[0]
			s.check(d.typeProto(s.message(), t.Of))
		case s.num == 1:
			t.Elem = dtypeOf(s.int())
		}
	}
	return s.err
}
