// Package onnxtest writes small ONNX files for tests and for the examples of the documentation: models with open sizes,
// control flow and inputs that decide shapes, which networks with weights seldom have all at once.
package onnxtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Element types of ONNX.
const (
	Float = 1
	Int64 = 7
	Bool  = 9
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
	Elem int
	Dims []any
}

// V makes a Value.
func V(name string, elem int, dims ...any) Value { return Value{name, elem, dims} }

// A Node is written "Operator a b -> c d", where _ is an operand that is absent. Attributes are int, []int, float64, string
// or *Graph.
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
	var m message
	m = m.int(1, 8).str(2, "lathe").str(3, "test")
	m = m.sub(8, message{}.str(1, "").int(2, 17))
	return m.sub(7, g.message())
}

type message []byte

func (m message) int(num protowire.Number, v int64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, num, protowire.VarintType), uint64(v))
}

func (m message) sub(num protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, num, protowire.BytesType), v)
}

func (m message) str(num protowire.Number, s string) message { return m.sub(num, []byte(s)) }

func (g *Graph) message() message {
	m := message{}.str(2, g.Name)
	for _, n := range g.Nodes {
		m = m.sub(1, n.message())
	}
	for _, w := range g.Weights {
		m = m.sub(5, w.message())
	}
	for _, v := range g.Inputs {
		m = m.sub(11, v.message())
	}
	for _, v := range g.Outputs {
		m = m.sub(12, v.message())
	}
	return m
}

func (v Value) message() message {
	var shape message
	for _, d := range v.Dims {
		switch d := d.(type) {
		case int:
			shape = shape.sub(1, message{}.int(1, int64(d)))
		case string:
			shape = shape.sub(1, message{}.str(2, d))
		default:
			shape = shape.sub(1, nil)
		}
	}
	return message{}.str(1, v.Name).sub(2, message{}.sub(1, message{}.int(1, int64(v.Elem)).sub(2, shape)))
}

func (n Node) message() message {
	left, right, ok := strings.Cut(n.Spec, "->")
	words := strings.Fields(left)
	if !ok || len(words) == 0 {
		panic("onnxtest: node " + n.Spec)
	}
	var m message
	for _, in := range words[1:] {
		m = m.str(1, strings.TrimPrefix(in, "_"))
	}
	outputs := strings.Fields(right)
	for _, out := range outputs {
		m = m.str(2, out)
	}
	m = m.str(3, words[0]+"_"+strings.Join(outputs, "_")).str(4, words[0])
	for _, name := range sortedNames(n.Attrs) {
		m = m.sub(5, attribute(name, n.Attrs[name]))
	}
	return m
}

func sortedNames(attrs map[string]any) []string {
	var names []string
	for name := range attrs {
		at := 0
		for at < len(names) && names[at] < name {
			at++
		}
		names = append(names[:at], append([]string{name}, names[at:]...)...)
	}
	return names
}

func attribute(name string, v any) message {
	m := message{}.str(1, name)
	switch v := v.(type) {
	case int:
		return m.int(3, int64(v)).int(20, 2)
	case []int:
		for _, i := range v {
			m = m.int(8, int64(i))
		}
		return m.int(20, 7)
	case float64:
		return message(protowire.AppendFixed32(protowire.AppendTag(m, 2, protowire.Fixed32Type), math.Float32bits(float32(v)))).int(20, 1)
	case string:
		return m.str(4, v).int(20, 3)
	case *Graph:
		return m.sub(6, v.message()).int(20, 5)
	}
	panic(fmt.Sprintf("onnxtest: attribute %s is a %T", name, v))
}

func (w Weight) message() message {
	var m message
	for _, d := range w.Dims {
		m = m.int(1, int64(d))
	}
	var raw []byte
	elem := Float
	for _, f := range w.Floats {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	if w.Floats == nil {
		elem = Int64
		for _, i := range w.Ints {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(i))
		}
	}
	return m.int(2, int64(elem)).str(8, w.Name).sub(9, raw)
}
