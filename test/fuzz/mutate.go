package fuzz

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	frontend "lathe/internal/frontend/onnx"
)

// A mutation changes a model somewhere. It may find nothing to change.
type mutation func(r *rand.Rand, m *message)

// mutations are changes of structure; those of numbers and wiring, which leave models meaningful, are there several times.
var mutations = []mutation{
	mutateAttr, mutateAttr, mutateAttr, mutateInput, mutateInput, mutateInitializer, mutateInitializer, mutateOperator, rewire, rewire,
	swapOperands, dropOperand, repeatNode, dropNode, shuffleNodes, mutateOpset, addOutput, longName, dropField,
}

func mutate(r *rand.Rand, m *message) {
	for range 1 + r.IntN(3) {
		mutations[r.IntN(len(mutations))](r, m)
	}
}

// pick is a random message of a kind within m, or nil.
func pick(r *rand.Rand, m *message, k *kind) *message {
	var list []*message
	m.visit(func(s *message) {
		if s.kind == k {
			list = append(list, s)
		}
	})
	if len(list) == 0 {
		return nil
	}
	return list[r.IntN(len(list))]
}

// one is a random field with that number, or nil.
func (m *message) one(r *rand.Rand, num protowire.Number) *field {
	if m == nil {
		return nil
	}
	list := m.all(num)
	if len(list) == 0 {
		return nil
	}
	return list[r.IntN(len(list))]
}

var oddInts = []int64{-9, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 100, 1000, 1 << 16, 1 << 20, 1 << 31, 1 << 40, 1 << 62, math.MinInt64, math.MaxInt64}

// odd is a small number more often than a strange one.
func odd(r *rand.Rand, old int64) int64 {
	switch r.IntN(4) {
	case 0:
		return oddInts[r.IntN(len(oddInts))]
	case 1:
		return old + int64(r.IntN(3)) - 1
	}
	return int64(r.IntN(8)) - 2
}

var oddFloats = []float64{0, -1, 0.5, 1, 2, -0.3, 1e-30, 1e30, math.Inf(1), math.NaN()}

// words are values of string attributes.
var words = strings.Fields("NOTSET SAME_UPPER SAME_LOWER VALID constant reflect edge wrap nearest linear cubic half_pixel align_corners asymmetric " +
	"pytorch_half_pixel tf_crop_and_resize half_pixel_symmetric none add mul max min avg DCR CRD forward reverse bidirectional floor ceil round_prefer_ceil " +
	"zeros border reflection LEFT RIGHT mean sum tanh linear circular")

func mutateAttr(r *rand.Rand, m *message) {
	a := pick(r, m, attrKind)
	if a == nil || len(a.fields) == 0 {
		return
	}
	f := a.fields[r.IntN(len(a.fields))]
	switch f.num {
	case 2: // f
		f.bits = uint64(math.Float32bits(float32(oddFloats[r.IntN(len(oddFloats))])))
	case 3: // i
		f.bits = uint64(odd(r, int64(f.bits)))
	case 4: // s
		f.data = []byte(words[r.IntN(len(words))])
	case 8: // ints
		if f.typ == protowire.VarintType {
			f.bits = uint64(odd(r, int64(f.bits)))
			return
		}
		f.data = mutateInts(r, f.data)
	}
}

// mutateInts changes, adds or removes a number of a packed list.
func mutateInts(r *rand.Rand, packed []byte) []byte {
	var list []int64
	for b := packed; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return packed
		}
		list, b = append(list, int64(v)), b[n:]
	}
	if k := r.IntN(8); k == 0 {
		list = append(list, odd(r, 1))
	} else if len(list) > 0 {
		i := r.IntN(len(list))
		if k == 1 {
			list = slices.Delete(list, i, i+1)
		} else {
			list[i] = odd(r, list[i])
		}
	}
	var out []byte
	for _, v := range list {
		out = protowire.AppendVarint(out, uint64(v))
	}
	return out
}

// mutateInput changes the type or shape that an input or output is declared to have.
func mutateInput(r *rand.Rand, m *message) {
	v := pick(r, m, valueKind)
	if v == nil {
		return
	}
	if t := pick(r, v, tensorType); t != nil && r.IntN(4) == 0 {
		if e := t.one(r, 1); e != nil {
			e.bits = []uint64{1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16}[r.IntN(13)]
		}
		return
	}
	s := pick(r, v, shapeKind)
	if s == nil {
		return
	}
	switch k := r.IntN(6); {
	case k == 0:
		s.fields = append(s.fields, &field{num: 1, typ: protowire.BytesType, sub: &message{kind: dimKind,
			fields: []*field{{num: 1, typ: protowire.VarintType, bits: uint64(odd(r, 1))}}}})
	case k == 1 && len(s.fields) > 0:
		i := r.IntN(len(s.fields))
		s.fields = slices.Delete(s.fields, i, i+1)
	default:
		if d := pick(r, s, dimKind); d != nil {
			if n := d.one(r, 1); n != nil {
				n.bits = uint64(odd(r, int64(n.bits)))
			}
		}
	}
}

// mutateInitializer changes a constant: its shape, with as many elements or not, or an element.
func mutateInitializer(r *rand.Rand, m *message) {
	t := pick(r, m, tensorKind)
	if t == nil {
		return
	}
	dims := t.all(1)
	switch k := r.IntN(4); {
	case k == 0 && len(dims) > 1: // exchange two extents
		i, j := r.IntN(len(dims)), r.IntN(len(dims))
		dims[i].bits, dims[i].data, dims[j].bits, dims[j].data = dims[j].bits, dims[j].data, dims[i].bits, dims[i].data
	case k == 1 && len(dims) > 0:
		d := dims[r.IntN(len(dims))]
		if d.typ == protowire.VarintType {
			d.bits = uint64(odd(r, int64(d.bits)))
		} else {
			d.data = mutateInts(r, d.data)
		}
	default:
		f := t.one(r, 9)
		if f == nil {
			if f = t.one(r, 7); f != nil && f.typ == protowire.BytesType {
				f.data = mutateInts(r, f.data)
			}
			return
		}
		f.data = slices.Clone(f.data)
		if typ := t.one(r, 2); typ != nil && typ.bits == 7 && len(f.data) >= 8 {
			at := 8 * r.IntN(len(f.data)/8)
			binary.LittleEndian.PutUint64(f.data[at:], uint64(odd(r, int64(binary.LittleEndian.Uint64(f.data[at:])))))
		} else if len(f.data) > 0 {
			f.data[r.IntN(len(f.data))] = byte(r.Uint32())
		}
	}
}

var operators = frontend.Rows()

func mutateOperator(r *rand.Rand, m *message) {
	n := pick(r, m, nodeKind)
	if op := n.one(r, 4); op != nil {
		op.data = []byte(operators[r.IntN(len(operators))].Op)
	}
}

// names lists the values of a graph that a node may read.
func (m *message) names() [][]byte {
	list := [][]byte{}
	for _, n := range m.all(1) {
		for _, o := range n.sub.all(2) {
			list = append(list, o.data)
		}
	}
	for _, num := range []protowire.Number{11, 5} {
		for _, v := range m.all(num) {
			field := protowire.Number(1)
			if num == 5 {
				field = 8
			}
			for _, f := range v.sub.all(field) {
				list = append(list, f.data)
			}
		}
	}
	return list
}

func rewire(r *rand.Rand, m *message) {
	g := pick(r, m, graphKind)
	if g == nil {
		return
	}
	names := g.names()
	if n := pick(r, g, nodeKind); n != nil && len(names) > 0 {
		if in := n.one(r, 1); in != nil {
			in.data = names[r.IntN(len(names))]
		}
	}
}

func swapOperands(r *rand.Rand, m *message) {
	n := pick(r, m, nodeKind)
	if a, b := n.one(r, 1), n.one(r, 1); a != nil {
		a.data, b.data = b.data, a.data
	}
}

func dropOperand(r *rand.Rand, m *message) {
	n := pick(r, m, nodeKind)
	num := protowire.Number(1 + r.IntN(2))
	f := n.one(r, num)
	if f == nil {
		return
	}
	if r.IntN(2) == 0 {
		f.data = nil
		return
	}
	i := slices.Index(n.fields, f)
	n.fields = slices.Delete(n.fields, i, i+1)
}

// repeatNode puts a copy of a node behind it that reads its result, and lets the others read the copy's.
func repeatNode(r *rand.Rand, m *message) {
	g := pick(r, m, graphKind)
	f := g.one(r, 1)
	if f == nil {
		return
	}
	in, out := f.sub.one(r, 1), f.sub.one(r, 2)
	if in == nil || out == nil {
		return
	}
	again := &field{num: 1, typ: protowire.BytesType, sub: f.sub.clone()}
	name := append([]byte("again/"), out.data...)
	for _, o := range f.sub.all(2) {
		o.data = append([]byte("again/"), o.data...)
	}
	for _, i := range again.sub.all(1) {
		if string(i.data) == string(in.data) {
			i.data = name
			break
		}
	}
	g.fields = slices.Insert(g.fields, slices.Index(g.fields, f)+1, again)
}

// dropNode removes a node; who read its result reads its operand.
func dropNode(r *rand.Rand, m *message) {
	g := pick(r, m, graphKind)
	f := g.one(r, 1)
	if f == nil {
		return
	}
	in, out := f.sub.one(r, 1), f.sub.one(r, 2)
	g.fields = slices.DeleteFunc(g.fields, func(x *field) bool { return x == f })
	if in == nil || out == nil {
		return
	}
	for _, n := range g.all(1) {
		for _, i := range n.sub.all(1) {
			if string(i.data) == string(out.data) {
				i.data = in.data
			}
		}
	}
}

func shuffleNodes(r *rand.Rand, m *message) {
	g := pick(r, m, graphKind)
	if a, b := g.one(r, 1), g.one(r, 1); a != nil {
		*a, *b = *b, *a
	}
}

func mutateOpset(r *rand.Rand, m *message) {
	if s := pick(r, m, opsetKind); s != nil {
		if v := s.one(r, 2); v != nil {
			v.bits = uint64(1 + r.IntN(28))
		}
	}
}

// addOutput makes a value in the middle an output.
func addOutput(r *rand.Rand, m *message) {
	g := m.one(r, 7)
	if g == nil || g.sub == nil {
		return
	}
	if names := g.sub.names(); len(names) > 0 {
		g.sub.fields = append(g.sub.fields, &field{num: 12, typ: protowire.BytesType, sub: &message{kind: valueKind,
			fields: []*field{{num: 1, typ: protowire.BytesType, data: names[r.IntN(len(names))]}}}})
	}
}

func longName(r *rand.Rand, m *message) {
	if n := pick(r, m, nodeKind); n != nil {
		n.fields = append(n.fields, &field{num: 3, typ: protowire.BytesType, data: []byte(strings.Repeat(fmt.Sprint("x", r.IntN(10)), 1+r.IntN(5000)))})
	}
}

// dropField leaves out a field of any message.
func dropField(r *rand.Rand, m *message) {
	kinds := []*kind{graphKind, nodeKind, attrKind, tensorKind, valueKind, typeKind, tensorType, shapeKind, dimKind}
	s := pick(r, m, kinds[r.IntN(len(kinds))])
	if s != nil && len(s.fields) > 0 {
		i := r.IntN(len(s.fields))
		s.fields = slices.Delete(s.fields, i, i+1)
	}
}
