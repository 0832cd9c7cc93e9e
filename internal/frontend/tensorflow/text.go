package tensorflow

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/container/prototext"
)

// A schema says what the fields of a message of TensorFlow are in text, of those that are read. Others are left out.
type schema map[string]member

// A member is a field: its number, and how its value is written.
type member struct {
	num  protowire.Number
	kind kind
	of   func() schema // of messages
}

type kind int

const (
	isText kind = iota
	isInt
	isFloat
	isDouble
	isType // a DataType by name
	isMessage
)

func message(num protowire.Number, of func() schema) member { return member{num, isMessage, of} }

// graphSchema is GraphDef; those below are the messages in it, and around it.
func graphSchema() schema {
	return schema{"node": message(1, nodeSchema), "library": message(2, librarySchema), "versions": message(4, func() schema { return schema{"producer": {1, isInt, nil}} })}
}

func nodeSchema() schema {
	return schema{"name": {1, isText, nil}, "op": {2, isText, nil}, "input": {3, isText, nil}, "attr": message(5, entry(valueSchema))}
}

// entry is that of a map from text to messages.
func entry(value func() schema) func() schema {
	return func() schema { return schema{"key": {1, isText, nil}, "value": message(2, value)} }
}

func valueSchema() schema {
	s := listSchema()
	delete(s, "func")
	s["func"], s["list"] = message(10, callSchema), message(1, listSchema)
	return s
}

func listSchema() schema {
	return schema{"s": {2, isText, nil}, "i": {3, isInt, nil}, "f": {4, isFloat, nil}, "b": {5, isInt, nil}, "type": {6, isType, nil}, "shape": message(7, shapeSchema),
		"tensor": message(8, tensorSchema), "func": message(9, callSchema)}
}

func callSchema() schema { return schema{"name": {1, isText, nil}} }

func shapeSchema() schema {
	return schema{"dim": message(2, func() schema { return schema{"size": {1, isInt, nil}} }), "unknown_rank": {3, isInt, nil}}
}

func tensorSchema() schema {
	return schema{"dtype": {1, isType, nil}, "tensor_shape": message(2, shapeSchema), "tensor_content": {4, isText, nil}, "float_val": {5, isFloat, nil}, "double_val": {6, isDouble, nil},
		"int_val": {7, isInt, nil}, "string_val": {8, isText, nil}, "int64_val": {10, isInt, nil}, "bool_val": {11, isInt, nil}, "half_val": {13, isInt, nil}, "uint32_val": {16, isInt, nil}, "uint64_val": {17, isInt, nil}}
}

func librarySchema() schema {
	argument := func() schema { return schema{"name": {1, isText, nil}, "type": {3, isType, nil}} }
	signature := func() schema {
		return schema{"name": {1, isText, nil}, "input_arg": message(2, argument), "output_arg": message(3, argument)}
	}
	return schema{"function": message(1, func() schema {
		return schema{"signature": message(1, signature), "node_def": message(3, nodeSchema), "ret": message(4, func() schema { return schema{"key": {1, isText, nil}, "value": {2, isText, nil}} })}
	})}
}

func metaSchema() schema {
	tensor := func() schema {
		return schema{"name": {1, isText, nil}, "dtype": {2, isType, nil}, "tensor_shape": message(3, shapeSchema)}
	}
	signature := func() schema {
		return schema{"inputs": message(1, entry(tensor)), "outputs": message(2, entry(tensor))}
	}
	return schema{"meta_info_def": message(1, func() schema { return schema{"tags": {4, isText, nil}, "tensorflow_version": {5, isText, nil}} }), "graph_def": message(2, graphSchema),
		"saver_def": message(3, func() schema {
			return schema{"filename_tensor_name": {1, isText, nil}, "restore_op_name": {3, isText, nil}}
		}), "signature_def": message(5, entry(signature))}
}

func savedSchema() schema {
	return schema{"saved_model_schema_version": {1, isInt, nil}, "meta_graphs": message(2, metaSchema)}
}

// inText is how a file of TensorFlow in text begins.
var inText = regexp.MustCompile(`^(\s*(#[^\n]*\n)?)*(node\s*:?\s*\{|versions\s*:?\s*\{|library\s*:?\s*\{|meta_graphs\s*:?\s*\{|(meta_info|graph|saver|signature)_def\s*:?\s*\{|saved_model_schema_version\s*:)`)

// binaryForm is a message in binary form, where it is in text.
func binaryForm(data []byte, of func() schema) ([]byte, error) {
	if !inText.Match(bytes.TrimPrefix(data[:min(len(data), 4096)], []byte("\ufeff"))) {
		return data, nil
	}
	m, err := prototext.Parse(data)
	if err != nil {
		return nil, err
	}
	return encode(nil, m, of())
}

// encode appends the fields of a message that the schema has.
func encode(out []byte, m *prototext.Message, s schema) ([]byte, error) {
	for i := range m.Fields {
		f := &m.Fields[i]
		x, known := s[f.Name]
		if !known {
			continue
		}
		if (x.kind == isMessage) != (f.Message != nil) {
			return nil, fmt.Errorf("line %d: %q is no field of its kind", f.Line, f.Name)
		}
		var err error
		switch x.kind {
		case isMessage:
			var sub []byte
			if sub, err = encode(nil, f.Message, x.of()); err == nil {
				out = protowire.AppendBytes(protowire.AppendTag(out, x.num, protowire.BytesType), sub)
			}
		case isText:
			out = protowire.AppendString(protowire.AppendTag(out, x.num, protowire.BytesType), f.Text)
		case isInt, isType:
			var v uint64
			if v, err = wholeNumber(f.Text, x.kind); err == nil {
				out = protowire.AppendVarint(protowire.AppendTag(out, x.num, protowire.VarintType), v)
			}
		case isFloat, isDouble:
			var v float64
			if v, err = strconv.ParseFloat(strings.TrimSuffix(f.Text, "f"), 64); err != nil && math.IsInf(v, 0) {
				err = nil // beyond float64
			}
			if x.kind == isFloat {
				out = protowire.AppendFixed32(protowire.AppendTag(out, x.num, protowire.Fixed32Type), math.Float32bits(float32(v)))
			} else {
				out = protowire.AppendFixed64(protowire.AppendTag(out, x.num, protowire.Fixed64Type), math.Float64bits(v))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", f.Line, f.Name, err)
		}
	}
	return out, nil
}

// typeNames are the names of types in text, without DT_.
var typeNames = map[string]dataType{
	"FLOAT": 1, "DOUBLE": 2, "INT32": 3, "UINT8": 4, "INT16": 5, "INT8": 6, "STRING": 7, "COMPLEX64": 8, "INT64": 9, "BOOL": 10, "QINT8": 11, "QUINT8": 12, "QINT32": 13,
	"BFLOAT16": 14, "QINT16": 15, "QUINT16": 16, "UINT16": 17, "COMPLEX128": 18, "HALF": 19, "RESOURCE": 20, "VARIANT": 21, "UINT32": 22, "UINT64": 23,
}

// wholeNumber reads a number, a truth value or the name of a type.
func wholeNumber(text string, k kind) (uint64, error) {
	switch text {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	if name, ok := strings.CutPrefix(text, "DT_"); ok && k == isType {
		plain, reference := strings.CutSuffix(name, "_REF")
		t, ok := typeNames[plain]
		if !ok {
			return 0, fmt.Errorf("there is no type %.80q", text)
		}
		if reference {
			t += asReference
		}
		return uint64(t), nil
	}
	if v, err := strconv.ParseInt(text, 0, 64); err == nil {
		return uint64(v), nil
	}
	return strconv.ParseUint(text, 0, 64)
}
