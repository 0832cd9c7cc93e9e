// Package xir writes graphs in the serial form of XIR, the intermediate representation of AMD's (Xilinx's) Vitis AI compiler: xmodel
// files, protobuf messages of the package serial_v2. Field numbers are those of Vitis AI's published sources, which Netron reads too.
package xir

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Graph is a list of operations, in an order in which they can run.
type Graph struct {
	Name string
	Ops  []Op
}

// An Op has one result, which goes by the operation's name.
type Op struct {
	Name, Type string
	Attrs      map[string]any // bool, int32, float32, string, []byte or []int32
	Args       []Arg
	Tensor     Tensor
}

// An Arg names the operations whose results are an argument.
type Arg struct {
	Name string
	Ops  []string
}

// A Tensor is the type of a result.
type Tensor struct {
	Type  DataType
	Bits  int
	Shape []int
	Attrs map[string]any
}

// DataType is XIR's number of a family of element types.
type DataType int

// Families of element types.
const (
	Int   DataType = 0
	Uint  DataType = 1
	Float DataType = 4
)

// Field numbers of serial_v2.
const (
	graphName, graphOps, graphRoot = 1, 5, 10

	opName, opType, opAttrs, opArgs, opTensor = 1, 2, 3, 4, 5
	argName, argOps                           = 1, 2

	tensorName, tensorShape, tensorType, tensorBits, tensorAttrs = 1, 2, 5, 6, 10

	subgraphName, subgraphOps = 1, 3

	boolValue, int32Value, floatValue, textValue, bytesValue, int32sValue = 4, 5, 9, 11, 12, 14
)

// Encode is the graph as a file. The same graph gives the same bytes.
func (g *Graph) Encode() []byte {
	b := text(nil, graphName, g.Name)
	root := text(nil, subgraphName, "root")
	for _, o := range g.Ops {
		b = message(b, graphOps, o.encode())
		root = text(root, subgraphOps, o.Name)
	}
	return message(b, graphRoot, root)
}

func (o *Op) encode() []byte {
	b := text(text(nil, opName, o.Name), opType, o.Type)
	b = attributes(b, opAttrs, o.Attrs)
	for _, a := range o.Args {
		arg := text(nil, argName, a.Name)
		for _, of := range a.Ops {
			arg = text(arg, argOps, of)
		}
		b = message(b, opArgs, arg)
	}
	t := text(nil, tensorName, o.Name)
	var shape []byte
	for _, d := range o.Tensor.Shape {
		shape = protowire.AppendVarint(shape, uint64(d))
	}
	t = message(t, tensorShape, shape)
	t = number(t, tensorType, uint64(o.Tensor.Type))
	t = number(t, tensorBits, uint64(o.Tensor.Bits))
	return message(b, opTensor, attributes(t, tensorAttrs, o.Tensor.Attrs))
}

// attributes appends a map, in the order of its keys.
func attributes(b []byte, field protowire.Number, attrs map[string]any) []byte {
	for _, key := range slices.SortedFunc(maps.Keys(attrs), cmp.Compare[string]) {
		entry := message(text(nil, 1, key), 2, value(attrs[key]))
		b = message(b, field, entry)
	}
	return b
}

func value(v any) []byte {
	switch v := v.(type) {
	case bool:
		n := uint64(0)
		if v {
			n = 1
		}
		return number(nil, boolValue, n)
	case int32:
		return number(nil, int32Value, uint64(int64(v)))
	case float32:
		return protowire.AppendFixed32(protowire.AppendTag(nil, floatValue, protowire.Fixed32Type), math.Float32bits(v))
	case string:
		return text(nil, textValue, v)
	case []byte:
		return message(nil, bytesValue, message(nil, 1, v))
	case []int32:
		var list []byte
		for _, n := range v {
			list = protowire.AppendVarint(list, uint64(int64(n)))
		}
		return message(nil, int32sValue, message(nil, 1, list))
	}
	panic("xir: an attribute of another type") // Attrs says which there are
}

func message(b []byte, field protowire.Number, m []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
}

func text(b []byte, field protowire.Number, s string) []byte { return message(b, field, []byte(s)) }

func number(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}
