package main

import (
	"encoding/binary"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of ONNX's messages that hold the shapes of Reshape nodes.
const (
	graphNode       = 1
	nodeInput       = 1
	nodeOutput      = 2
	nodeOperator    = 4
	nodeAttribute   = 5
	attributeTensor = 5
	tensorType      = 2
	tensorInt64s    = 7
	tensorRaw       = 9
	typeInt64       = 7
)

// reshapeShapes returns the names of values that are shapes of Reshape nodes and nothing else. Exporters write the batch
// into them; 0 in its place means the extent of what is reshaped, for any batch.
func reshapeShapes(graph []byte) (map[string]bool, error) {
	shapes, others := map[string]bool{}, map[string]bool{}
	err := each(graph, func(field protowire.Number, node []byte) error {
		if field != graphNode {
			return nil
		}
		operator, err := stringField(node, nodeOperator)
		i := 0
		return errors.Join(err, each(node, func(field protowire.Number, v []byte) error {
			if field != nodeInput {
				return nil
			}
			if i == 1 && operator == "Reshape" {
				shapes[string(v)] = true
			} else {
				others[string(v)] = true
			}
			i++
			return nil
		}))
	})
	for name := range others {
		delete(shapes, name)
	}
	return shapes, err
}

// openShape rewrites a Constant node that gives one of the shapes.
func openShape(node []byte, shapes map[string]bool) ([]byte, error) {
	operator, err1 := stringField(node, nodeOperator)
	output, err2 := stringField(node, nodeOutput)
	if err := errors.Join(err1, err2); err != nil || operator != "Constant" || !shapes[output] {
		return node, err
	}
	return rewrite(node, func(field protowire.Number, v []byte) ([]byte, bool, error) {
		if field != nodeAttribute {
			return v, true, nil
		}
		v, err := rewrite(v, func(field protowire.Number, v []byte) ([]byte, bool, error) {
			if field != attributeTensor {
				return v, true, nil
			}
			v, err := openFirst(v)
			return v, true, err
		})
		return v, true, err
	})
}

// openFirst turns the first element of a tensor of int64 from 1 into 0.
func openFirst(tensor []byte) ([]byte, error) {
	isInt64 := false
	for b := tensor; len(b) > 0; {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if v, m := protowire.ConsumeVarint(b[n:]); field == tensorType && kind == protowire.VarintType && m > 0 {
			isInt64 = v == typeInt64
		}
		m := protowire.ConsumeFieldValue(field, kind, b[n:])
		if m < 0 {
			return nil, protowire.ParseError(m)
		}
		b = b[n+m:]
	}
	if !isInt64 {
		return tensor, nil
	}
	return rewrite(tensor, func(field protowire.Number, v []byte) ([]byte, bool, error) {
		switch {
		case field == tensorRaw && len(v) > 8 && binary.LittleEndian.Uint64(v) == 1:
			v = append(make([]byte, 8), v[8:]...)
		case field == tensorInt64s && len(v) > 1 && v[0] == 1:
			v = append([]byte{0}, v[1:]...)
		}
		return v, true, nil
	})
}
