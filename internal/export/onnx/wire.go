package onnx

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"lathe/internal/tensor"
)

// A message is a protobuf message under construction. Large tensors are parts of their own, so that weights are not
// copied.
type message struct {
	parts [][]byte // all but the last are done
	size  int      // bytes of all parts but the last
	last  []byte
}

// inlineBytes is the size from which bytes become a part of their own.
const inlineBytes = 1 << 12

func (m *message) len() int { return m.size + len(m.last) }

func (m *message) int(num protowire.Number, v int) {
	m.last = protowire.AppendVarint(protowire.AppendTag(m.last, num, protowire.VarintType), uint64(int64(v)))
}

func (m *message) float(num protowire.Number, v float64) {
	m.last = protowire.AppendFixed32(protowire.AppendTag(m.last, num, protowire.Fixed32Type), math.Float32bits(float32(v)))
}

func (m *message) text(num protowire.Number, v string) {
	m.last = protowire.AppendString(protowire.AppendTag(m.last, num, protowire.BytesType), v)
}

// named writes a text that is left out when empty.
func (m *message) named(num protowire.Number, v string) {
	if v != "" {
		m.text(num, v)
	}
}

func (m *message) bytes(num protowire.Number, v []byte) {
	m.last = protowire.AppendVarint(protowire.AppendTag(m.last, num, protowire.BytesType), uint64(len(v)))
	if len(v) < inlineBytes {
		m.last = append(m.last, v...)
		return
	}
	m.parts = append(m.parts, m.last, v)
	m.size += len(m.last) + len(v)
	m.last = nil
}

func (m *message) sub(num protowire.Number, s *message) {
	m.last = protowire.AppendVarint(protowire.AppendTag(m.last, num, protowire.BytesType), uint64(s.len()))
	if len(s.parts) == 0 {
		m.last = append(m.last, s.last...)
		return
	}
	m.parts = append(append(m.parts, m.last), s.parts...)
	m.size += len(m.last) + s.size
	m.last = s.last
}

func (m *message) ints(num protowire.Number, v []int) {
	var run []byte
	for _, n := range v {
		run = protowire.AppendVarint(run, uint64(int64(n)))
	}
	m.last = protowire.AppendBytes(protowire.AppendTag(m.last, num, protowire.BytesType), run)
}

func (m *message) floats(num protowire.Number, v []float64) {
	var run []byte
	for _, f := range v {
		run = protowire.AppendFixed32(run, math.Float32bits(float32(f)))
	}
	m.last = protowire.AppendBytes(protowire.AppendTag(m.last, num, protowire.BytesType), run)
}

// maxFile is what a protobuf message can hold.
const maxFile = math.MaxInt32

// Write encodes the model. external, if not nil, takes the bytes of large initializers.
func (m *Model) Write(w io.Writer, external *External) error {
	if m.Graph == nil || len(m.Opsets) == 0 {
		return errors.New("onnx: a model without a graph or without operator sets cannot be written")
	}
	e := encoder{external: external}
	top := &message{}
	top.int(1, irVersion(m.Opsets[""]))
	top.named(2, m.Producer)
	graph := e.graph(m.Graph)
	if e.err != nil {
		return fmt.Errorf("onnx: %w", e.err)
	}
	top.sub(7, graph)
	for _, domain := range slices.Sorted(maps.Keys(m.Opsets)) {
		set := &message{}
		set.text(1, domain)
		set.int(2, m.Opsets[domain])
		top.sub(8, set)
	}
	if top.len() > maxFile {
		return fmt.Errorf("onnx: the model takes %d MB, and an ONNX file holds at most 2047 (write its weights to a file of external data)", top.len()>>20)
	}
	for _, part := range append(top.parts, top.last) {
		if _, err := w.Write(part); err != nil {
			return fmt.Errorf("onnx: %w", err)
		}
	}
	return nil
}

// External is a file beside the model's that takes the bytes of large initializers. Name is its path as seen from the
// model's folder.
type External struct {
	Name string
	W    io.Writer

	at int
}

// externalBytes is the size from which an initializer goes to the file of external data, and externalAlign what its
// place there is a multiple of, so that readers can map it.
const (
	externalBytes = 1 << 10
	externalAlign = 1 << 12
)

func (x *External) put(b []byte) (offset int, err error) {
	if gap := -x.at & (externalAlign - 1); gap > 0 {
		if _, err := x.W.Write(make([]byte, gap)); err != nil {
			return 0, err
		}
		x.at += gap
	}
	offset = x.at
	x.at += len(b)
	_, err = x.W.Write(b)
	return offset, err
}

// An encoder turns the structs into messages. Field numbers are those of onnx.proto3.
type encoder struct {
	external *External
	err      error
}

func (e *encoder) graph(g *Graph) *message {
	m := &message{}
	for _, n := range g.Nodes {
		m.sub(1, e.node(n))
	}
	m.text(2, g.Name)
	for _, t := range g.Initializers {
		m.sub(5, e.initializer(t))
	}
	for _, v := range g.Inputs {
		m.sub(11, valueInfo(v))
	}
	for _, v := range g.Outputs {
		m.sub(12, valueInfo(v))
	}
	for _, v := range g.Values {
		m.sub(13, valueInfo(v))
	}
	return m
}

func (e *encoder) node(n *Node) *message {
	m := &message{}
	for _, name := range n.In {
		m.text(1, name)
	}
	for _, name := range n.Out {
		m.text(2, name)
	}
	m.named(3, n.Name)
	m.text(4, n.Op)
	for _, a := range n.Attrs {
		m.sub(5, e.attr(a))
	}
	m.named(7, n.Domain)
	return m
}

func (e *encoder) attr(a Attr) *message {
	m := &message{}
	m.text(1, a.Name)
	kind := 0
	switch v := a.Value.(type) {
	case float64:
		kind = 1
		m.float(2, v)
	case int:
		kind = 2
		m.int(3, v)
	case string:
		kind = 3
		m.text(4, v)
	case *tensor.Tensor:
		kind = 4
		m.sub(5, tensorProto("", v))
	case *Graph:
		kind = 5
		m.sub(6, e.graph(v))
	case []float64:
		kind = 6
		m.floats(7, v)
	case []int:
		kind = 7
		m.ints(8, v)
	case []string:
		kind = 8
		for _, s := range v {
			m.text(9, s)
		}
	default:
		e.err = fmt.Errorf("attribute %q is of Go type %T, which is none of ONNX", a.Name, a.Value)
	}
	m.int(20, kind)
	return m
}

func (e *encoder) initializer(t Initializer) *message {
	if e.external == nil || t.Size() < externalBytes {
		return tensorProto(t.Name, t.Tensor)
	}
	m := tensorHead(t.Name, t.Tensor)
	at, err := e.external.put(t.Bytes())
	if err != nil {
		e.err = err
	}
	for _, entry := range [][2]string{{"location", e.external.Name}, {"offset", fmt.Sprint(at)}, {"length", fmt.Sprint(t.Size())}} {
		pair := &message{}
		pair.text(1, entry[0])
		pair.text(2, entry[1])
		m.sub(13, pair)
	}
	m.int(14, 1) // data_location: external
	return m
}

func tensorHead(name string, t *tensor.Tensor) *message {
	m := &message{}
	for _, n := range t.Shape {
		m.int(1, n)
	}
	m.int(2, ElemType(t.DType))
	m.named(8, name)
	return m
}

func tensorProto(name string, t *tensor.Tensor) *message {
	m := tensorHead(name, t)
	m.bytes(9, t.Bytes())
	return m
}

func valueInfo(v Value) *message {
	typ := &message{}
	if v.DType != 0 {
		typ.int(1, ElemType(v.DType))
	}
	if !v.Free {
		shape := &message{}
		for _, d := range v.Dims {
			dim := &message{}
			if d.Name != "" {
				dim.text(2, d.Name)
			} else if d.Size >= 0 {
				dim.int(1, d.Size)
			}
			shape.sub(1, dim)
		}
		typ.sub(2, shape)
	}
	kind, m := &message{}, &message{}
	kind.sub(1, typ)
	m.text(1, v.Name)
	m.sub(2, kind)
	return m
}
