package fuzz

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// A kind is a message of onnx.proto: its fields that are messages.
type kind map[protowire.Number]*kind

// The messages that mutators look into.
var (
	dimKind    = &kind{}
	shapeKind  = &kind{1: dimKind}
	tensorType = &kind{2: shapeKind}
	typeKind   = &kind{1: tensorType}
	valueKind  = &kind{2: typeKind}
	tensorKind = &kind{}
	attrKind   = &kind{5: tensorKind, 10: tensorKind}
	nodeKind   = &kind{5: attrKind}
	graphKind  = &kind{1: nodeKind, 5: tensorKind, 11: valueKind, 12: valueKind, 13: valueKind}
	opsetKind  = &kind{}
	modelKind  = &kind{7: graphKind, 8: opsetKind, 25: {7: nodeKind}}
)

func init() { (*attrKind)[6], (*attrKind)[11] = graphKind, graphKind }

// A message is a protobuf message taken apart, to be changed and written again.
type message struct {
	kind   *kind
	fields []*field
}

// A field is one field: a number, bytes, or a message.
type field struct {
	num  protowire.Number
	typ  protowire.Type
	bits uint64
	data []byte
	sub  *message
}

func parseMessage(b []byte, k *kind) (*message, error) {
	m := &message{kind: k}
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		f := &field{num: num, typ: typ}
		switch typ {
		case protowire.VarintType:
			f.bits, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			f.bits = uint64(v)
		case protowire.Fixed64Type:
			f.bits, n = protowire.ConsumeFixed64(b)
		default:
			f.data, n = protowire.ConsumeBytes(b)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		if sub := (*k)[num]; sub != nil && typ == protowire.BytesType {
			var err error
			if f.sub, err = parseMessage(f.data, sub); err != nil {
				return nil, err
			}
		}
		m.fields = append(m.fields, f)
	}
	return m, nil
}

func (m *message) encode() []byte {
	var b []byte
	for _, f := range m.fields {
		b = protowire.AppendTag(b, f.num, f.typ)
		switch {
		case f.sub != nil:
			b = protowire.AppendBytes(b, f.sub.encode())
		case f.typ == protowire.VarintType:
			b = protowire.AppendVarint(b, f.bits)
		case f.typ == protowire.Fixed32Type:
			b = protowire.AppendFixed32(b, uint32(f.bits))
		case f.typ == protowire.Fixed64Type:
			b = protowire.AppendFixed64(b, f.bits)
		default:
			b = protowire.AppendBytes(b, f.data)
		}
	}
	return b
}

// all lists the fields with a number.
func (m *message) all(num protowire.Number) (list []*field) {
	for _, f := range m.fields {
		if f.num == num {
			list = append(list, f)
		}
	}
	return list
}

// visit shows m and all messages within it.
func (m *message) visit(see func(*message)) {
	see(m)
	for _, f := range m.fields {
		if f.sub != nil {
			f.sub.visit(see)
		}
	}
}

// clone copies m.
func (m *message) clone() *message {
	c := &message{kind: m.kind}
	for _, f := range m.fields {
		g := *f
		if g.sub != nil {
			g.sub = f.sub.clone()
		}
		c.fields = append(c.fields, &g)
	}
	return c
}
