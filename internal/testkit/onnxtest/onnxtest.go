// Package onnxtest writes small ONNX files for tests and for the examples of the documentation: models with open sizes,
// control flow and inputs that decide shapes, which networks with weights seldom have all at once.
package onnxtest

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"lathe/internal/export/onnx"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Element types.
const (
	Float = types.F32
	Int64 = types.I64
)

// A Graph is the main graph of a model, or the body of a node.
type Graph struct {
	Name            string
	Inputs, Outputs []Value
	Nodes           []Node
	Weights         []Weight
}

// A Value is an input or output. Each of Dims is an int, a name, or nil where the file says nothing.
type Value struct {
	Name string
	Elem types.DType
	Dims []any
}

// V makes a Value.
func V(name string, elem types.DType, dims ...any) Value { return Value{name, elem, dims} }

// A Node is written "Operator a b -> c d", where _ is an operand that is absent. Attributes are int, []int, float64, string,
// types.DType or *Graph.
type Node struct {
	Spec  string
	Attrs map[string]any
}

// N makes a Node of attributes in pairs of name and value.
func N(spec string, attrs ...any) Node {
	n := Node{spec, map[string]any{}}
	for i := 0; i < len(attrs); i += 2 {
		n.Attrs[attrs[i].(string)] = attrs[i+1]
	}
	return n
}

// A Weight is an initializer: Floats, or Ints where Floats is nil.
type Weight struct {
	Name   string
	Dims   []int
	Floats []float32
	Ints   []int64
}

// Random is a weight of numbers that are the same every time.
func Random(name string, dims ...int) Weight {
	n := 1
	for _, d := range dims {
		n *= d
	}
	w := Weight{Name: name, Dims: dims, Floats: make([]float32, n)}
	state := uint32(len(name)) * 2654435761
	for i := range w.Floats {
		state = state*1664525 + 1013904223
		w.Floats[i] = float32(int32(state)>>8) / (1 << 24)
	}
	return w
}

// Ints is a weight of integers of rank 1.
func Ints(name string, v ...int64) Weight { return Weight{Name: name, Dims: []int{len(v)}, Ints: v} }

// Model is the file of a model of opset 17.
func Model(g *Graph) []byte {
	m := onnx.Model{Producer: "lathe", Opsets: map[string]int{"": 17}, Graph: g.graph()}
	var b bytes.Buffer
	if err := m.Write(&b, nil); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func (g *Graph) graph() *onnx.Graph {
	to := &onnx.Graph{Name: g.Name, Inputs: values(g.Inputs), Outputs: values(g.Outputs)}
	for _, n := range g.Nodes {
		to.Nodes = append(to.Nodes, n.node())
	}
	for _, w := range g.Weights {
		dims := append([]int{}, w.Dims...)
		t := tensor.Of(dims, w.Floats)
		if w.Floats == nil {
			t = tensor.Of(dims, w.Ints)
		}
		to.Initializers = append(to.Initializers, onnx.Initializer{Name: w.Name, Tensor: t})
	}
	return to
}

func values(list []Value) []onnx.Value {
	var to []onnx.Value
	for _, v := range list {
		dims := make([]onnx.Dim, len(v.Dims))
		for i, d := range v.Dims {
			dims[i].Size = -1
			switch d := d.(type) {
			case int:
				dims[i].Size = d
			case string:
				dims[i].Name = d
			}
		}
		to = append(to, onnx.Value{Name: v.Name, DType: v.Elem, Dims: dims})
	}
	return to
}

func (n Node) node() *onnx.Node {
	left, right, _ := strings.Cut(n.Spec, "->")
	words, out := strings.Fields(left), strings.Fields(right)
	to := &onnx.Node{Name: words[0] + "_" + strings.Join(out, "_"), Op: words[0], Out: out}
	for _, in := range words[1:] {
		to.In = append(to.In, strings.TrimPrefix(in, "_"))
	}
	for _, name := range slices.Sorted(maps.Keys(n.Attrs)) {
		v := n.Attrs[name]
		switch body := v.(type) {
		case *Graph:
			v = body.graph()
		case types.DType:
			v = onnx.ElemType(body)
		}
		to.Attrs = append(to.Attrs, onnx.Attr{Name: name, Value: v})
	}
	return to
}
