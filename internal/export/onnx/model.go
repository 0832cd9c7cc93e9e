// Package onnx writes ONNX files: the model half is the file format as plain structs, the table half says what each
// operator of the graph becomes in ONNX. Write does both for a graph.
//
// Equal models give equal bytes.
package onnx

import (
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// A Model is a ModelProto to be written.
type Model struct {
	Producer string
	Opsets   map[string]int // operator domain ("" is ai.onnx) to version
	Graph    *Graph
}

// A Graph is a GraphProto: a model's or the body of a control-flow node. Nodes are in topological order.
type Graph struct {
	Name            string
	Nodes           []*Node
	Initializers    []Initializer
	Inputs, Outputs []Value
	Values          []Value // types of results, for readers that want them
}

// A Node is a NodeProto. An empty name among In or Out is an operand or a result that is absent.
type Node struct {
	Name, Op, Domain string
	In, Out          []string
	Attrs            []Attr
}

// An Attr is an AttributeProto. Its value is an int, float64 (written as float32), string, []int, []float64, []string,
// *tensor.Tensor or *Graph.
type Attr struct {
	Name  string
	Value any
}

// An Initializer is a named constant.
type Initializer struct {
	Name string
	*tensor.Tensor
}

// A Value is a ValueInfoProto: a name with an element type and a shape.
type Value struct {
	Name  string
	DType types.DType
	Dims  []Dim
	Free  bool // the rank is left open, and Dims does not count
}

// A Dim is an extent, or a name for one that is open; without a name it is open all the same where Size is negative.
type Dim struct {
	Size int
	Name string
}

// Dims are the extents of a shape.
func Dims(shape ...int) []Dim {
	d := make([]Dim, len(shape))
	for i, n := range shape {
		d[i].Size = n
	}
	return d
}

// elemTypes are the numbers of TensorProto.DataType.
var elemTypes = map[types.DType]int{
	types.F32: 1, types.U8: 2, types.I8: 3, types.U16: 4, types.I16: 5, types.I32: 6, types.I64: 7, types.Bool: 9,
	types.F16: 10, types.F64: 11, types.U32: 12, types.U64: 13, types.BF16: 16,
	types.U4: 21, types.I4: 22,
}

// ElemType is the number by which ONNX knows an element type.
func ElemType(d types.DType) int { return elemTypes[d] }

// irVersions are the versions of the format that came with the versions of ai.onnx.
var irVersions = []struct{ opset, ir int }{{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}, {15, 8}, {13, 7}, {11, 6}, {9, 4}, {0, 3}}

func irVersion(opset int) int {
	for _, v := range irVersions {
		if opset >= v.opset {
			return v.ir
		}
	}
	return irVersions[len(irVersions)-1].ir
}
