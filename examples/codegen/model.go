package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"google.golang.org/protobuf/encoding/protowire"
)

// A model is what the generator needs of an ONNX file: nodes in order, constants, and the shapes of float32 tensors. The numbers of the
// fields are those of onnx.proto.
type model struct {
	nodes           []node
	inputs, outputs []string
	constants       map[string][]float32
	shapes          map[string][]int64
}

type node struct {
	name, op    string
	inputs, out []string
}

const float32Type = 1

// fields calls each with the fields of a message: a number, or bytes.
func fields(b []byte, each func(field protowire.Number, v uint64, bytes []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var v uint64
		var bytes []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := each(field, v, bytes); err != nil {
			return err
		}
	}
	return nil
}

func readModel(path string) (*model, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &model{constants: map[string][]float32{}, shapes: map[string][]int64{}}
	return m, fields(b, func(field protowire.Number, _ uint64, b []byte) error {
		if field == 7 { // graph
			return m.readGraph(b)
		}
		return nil
	})
}

func (m *model) readGraph(b []byte) error {
	return fields(b, func(field protowire.Number, _ uint64, b []byte) error {
		switch field {
		case 1:
			return m.readNode(b)
		case 5:
			return m.readConstant(b)
		case 11, 12, 13: // inputs, outputs, other values
			name, err := m.readValue(b)
			switch field {
			case 11:
				m.inputs = append(m.inputs, name)
			case 12:
				m.outputs = append(m.outputs, name)
			}
			return err
		}
		return nil
	})
}

func (m *model) readNode(b []byte) error {
	var n node
	err := fields(b, func(field protowire.Number, _ uint64, b []byte) error {
		switch field {
		case 1:
			n.inputs = append(n.inputs, string(b))
		case 2:
			n.out = append(n.out, string(b))
		case 3:
			n.name = string(b)
		case 4:
			n.op = string(b)
		}
		return nil
	})
	m.nodes = append(m.nodes, n)
	return err
}

// readConstant reads an initializer; those of other types are left out.
func (m *model) readConstant(b []byte) error {
	var name string
	var kind uint64
	var raw []byte
	shape := []int64{}
	err := fields(b, func(field protowire.Number, v uint64, b []byte) error {
		switch field {
		case 1:
			if b == nil {
				shape = append(shape, int64(v))
			}
			for len(b) > 0 { // packed
				d, n := protowire.ConsumeVarint(b)
				if n < 0 {
					return protowire.ParseError(n)
				}
				shape, b = append(shape, int64(d)), b[n:]
			}
		case 2:
			kind = v
		case 8:
			name = string(b)
		case 9:
			raw = b
		}
		return nil
	})
	if err != nil || kind != float32Type {
		return err
	}
	values := make([]float32, len(raw)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	if int64(len(values)) != elements(shape) {
		return fmt.Errorf("constant %q has %d elements", name, len(values))
	}
	m.constants[name], m.shapes[name] = values, shape
	return nil
}

// readValue reads name and shape of a value. One that is no float32 tensor of known shape has none.
func (m *model) readValue(b []byte) (name string, err error) {
	shape, known := []int64{}, false
	dim := func(field protowire.Number, _ uint64, b []byte) error {
		size := int64(-1)
		err := fields(b, func(field protowire.Number, v uint64, _ []byte) error {
			if field == 1 {
				size = int64(v)
			}
			return nil
		})
		if shape = append(shape, size); size < 0 {
			known = false
		}
		return err
	}
	tensor := func(field protowire.Number, v uint64, b []byte) error {
		switch field {
		case 1:
			known = v == float32Type
		case 2:
			return fields(b, dim)
		}
		return nil
	}
	err = fields(b, func(field protowire.Number, _ uint64, b []byte) error {
		switch field {
		case 1:
			name = string(b)
		case 2:
			return fields(b, func(field protowire.Number, _ uint64, b []byte) error {
				if field != 1 {
					return errors.New("a value that is no tensor")
				}
				return fields(b, tensor)
			})
		}
		return nil
	})
	if known {
		m.shapes[name] = shape
	}
	return name, err
}

func elements(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}
