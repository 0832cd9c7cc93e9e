package onnx

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// A pb is a protobuf message under construction.
type pb []byte

func (m pb) int(num protowire.Number, v int64) pb {
	return protowire.AppendVarint(protowire.AppendTag(m, num, protowire.VarintType), uint64(v))
}

func (m pb) float(num protowire.Number, v float32) pb {
	return protowire.AppendFixed32(protowire.AppendTag(m, num, protowire.Fixed32Type), math.Float32bits(v))
}

func (m pb) sub(num protowire.Number, v pb) pb {
	return protowire.AppendBytes(protowire.AppendTag(m, num, protowire.BytesType), v)
}

func (m pb) str(num protowire.Number, v ...string) pb {
	for _, s := range v {
		m = m.sub(num, pb(s))
	}
	return m
}

func (m pb) packed(num protowire.Number, v ...int64) pb {
	var run pb
	for _, i := range v {
		run = protowire.AppendVarint(run, uint64(i))
	}
	return m.sub(num, run)
}

// lie appends a length-delimited field that claims more bytes than follow.
func (m pb) lie(num protowire.Number, claimed uint64) pb {
	return append(protowire.AppendVarint(protowire.AppendTag(m, num, protowire.BytesType), claimed), "abc"...)
}

func wireJoin(parts ...pb) (m pb) {
	for _, p := range parts {
		m = append(m, p...)
	}
	return m
}

// wireNode builds a NodeProto from "Op in in -> out out", where _ stands for an empty name.
func wireNode(spec string, attrs ...pb) pb {
	left, right, _ := strings.Cut(spec, "->")
	fields := strings.Fields(left)
	domain, op, ok := strings.Cut(fields[0], ".")
	if !ok {
		domain, op = "", fields[0]
	}
	m := pb{}
	add := func(num protowire.Number, list []string) {
		for _, name := range list {
			if name == "_" {
				name = ""
			}
			m = m.str(num, name)
		}
	}
	add(1, fields[1:])
	add(2, strings.Fields(right))
	m = m.str(4, op)
	if domain != "" {
		m = m.str(7, domain)
	}
	for _, a := range attrs {
		m = m.sub(5, a)
	}
	return m
}

func wireAttr(name string, t AttrType) pb { return pb{}.str(1, name).int(20, int64(t)) }

// wireValue builds a ValueInfoProto of float elements; a negative dim is left unknown.
func wireValue(name string, dims ...int64) pb {
	shape := pb{}
	for _, d := range dims {
		dim := pb{}
		if d >= 0 {
			dim = dim.int(1, d)
		}
		shape = shape.sub(1, dim)
	}
	return pb{}.str(1, name).sub(2, pb{}.sub(1, pb{}.int(1, 1).sub(2, shape)))
}

// wireTensor builds a TensorProto.
func wireTensor(name string, t DType, dims []int64, parts ...pb) pb {
	m := pb{}
	for _, d := range dims {
		m = m.int(1, d)
	}
	return wireJoin(append([]pb{m.int(2, int64(t)).str(8, name)}, parts...)...)
}

func wireRaw(n int) pb { return pb{}.sub(9, make(pb, n)) }

// wireGraph builds a GraphProto with inputs and outputs given as names, and parts in wire form.
func wireGraph(inputs, outputs string, parts ...pb) pb {
	m := pb{}.str(2, "g")
	for _, in := range strings.Fields(inputs) {
		m = m.sub(11, wireValue(in))
	}
	for _, out := range strings.Fields(outputs) {
		m = m.sub(12, wireValue(out))
	}
	return wireJoin(append([]pb{m}, parts...)...)
}

// wireNodes builds the node field of a graph from specs.
func wireNodes(specs ...string) (m pb) {
	for _, s := range specs {
		m = m.sub(1, wireNode(s))
	}
	return m
}

func wireOpset(domain string, version int64) pb { return pb{}.str(1, domain).int(2, version) }

// wireModel builds a ModelProto of IR version 8 and opset 13 around a graph.
func wireModel(g pb, parts ...pb) pb {
	return wireJoin(append([]pb{pb{}.int(1, 8).sub(8, wireOpset("", 13)).sub(7, g)}, parts...)...)
}

// graphText writes nodes one a line, with those of nested graphs indented.
func graphText(g *Graph) string {
	var b strings.Builder
	writeGraph(&b, g, "")
	return b.String()
}

func writeGraph(b *strings.Builder, g *Graph, indent string) {
	for _, n := range g.Nodes {
		fmt.Fprintf(b, "%s%q = %s:%d %q %q", indent, n.Outputs, n.Qualified(), n.Version, n.Inputs, n.Name)
		for i := range n.Attrs {
			a := &n.Attrs[i]
			switch v := a.value.(type) {
			case *Graph:
				fmt.Fprintf(b, " %s={\n", a.Name)
				writeGraph(b, v, indent+"  ")
				fmt.Fprintf(b, "%s} -> %s", indent, valueNames(v.Outputs))
			case *Tensor:
				fmt.Fprintf(b, " %s=%s%v", a.Name, v.DType, v.Dims)
			default:
				fmt.Fprintf(b, " %s=%v", a.Name, v)
			}
		}
		b.WriteString("\n")
	}
}

func valueNames(values []ValueInfo) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v.Name
	}
	return strings.Join(list, " ")
}
