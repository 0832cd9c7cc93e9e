// Package tflite reads TensorFlow Lite models: the reading half decodes and checks the flatbuffer, the table half says what each
// operator becomes in the graph. The format is that of schema.fbs, of which the numbers of slots and codes here are taken.
//
// The reader maps the file and keeps tensors where they are. It checks form: references, sizes, order. Malformed input gives an
// error, never a panic, and memory stays proportional to the size of the file.
package tflite

import (
	"errors"
	"fmt"

	"lathe/internal/types"
)

// A model is a decoded file.
type model struct {
	version     int
	description string
	graphs      []*subgraph
	signatures  []signature
	data        []byte
	meta        metadata
	notes       []string // trouble that does not keep the model from running
}

// A signature gives names to the inputs and outputs of a graph, which are aliases of those of the tensors.
type signature struct {
	key             string
	inputs, outputs map[string]int
	graph           int
}

type subgraph struct {
	name            string
	tensors         []*tensorInfo
	inputs, outputs []*tensorInfo
	operators       []*operator
}

// A tensorInfo is what the file says of one value. Values have names of their own within their graph.
type tensorInfo struct {
	name      string
	elem      elemType
	shape     []int  // of computed values a hint
	signature []int  // shape with -1 where it is open; nil: as shape
	data      []byte // nil where it is computed
	quant     quantization
	variable  bool
	sparsity  table
}

// A quantization says what integers stand for: (q - zero) * scale, with one entry, or one for each index of axis. No scale is none.
type quantization struct {
	scale []float32
	zero  []int64
	axis  int
}

// An operator is one application of a builtin operator, or of one that the file only names.
type operator struct {
	name          string
	custom        bool
	version       int
	in, out       []*tensorInfo // nil where absent
	intermediates []*tensorInfo
	options       table
	customOptions []byte
}

// An elemType is an element type by its number in the schema.
type elemType int

var elemTypes = [...]struct {
	name  string
	dtype types.DType
}{
	{"float32", types.F32}, {"float16", types.F16}, {"int32", types.I32}, {"uint8", types.U8}, {"int64", types.I64}, {"string", 0}, {"bool", types.Bool},
	{"int16", types.I16}, {"complex64", 0}, {"int8", types.I8}, {"float64", types.F64}, {"complex128", 0}, {"uint64", types.U64}, {"resource", 0},
	{"variant", 0}, {"uint32", types.U32}, {"uint16", types.U16}, {"int4", types.I8}, {"bfloat16", types.BF16},
}

const (
	elemInt32     elemType = 2
	elemInt16     elemType = 7
	elemComplex64 elemType = 8
	elemInt4      elemType = 17 // two in a byte, the first in the low half; int8 in the graph
)

func (e elemType) String() string {
	if e < 0 || int(e) >= len(elemTypes) {
		return fmt.Sprintf("element type %d", int(e))
	}
	return elemTypes[e].name
}

func (e elemType) dtype() (types.DType, error) {
	if e < 0 || int(e) >= len(elemTypes) || elemTypes[e].dtype == 0 {
		return 0, fmt.Errorf("element type %s is not supported", e)
	}
	return elemTypes[e].dtype, nil
}

// magic stands at byte 4 of a file.
const magic = "TFL3"

// read decodes and checks a model, whose tensors point into data.
func read(data []byte) (*model, error) {
	if len(data) < 8 || string(data[4:8]) != magic {
		return nil, errors.New("not a TensorFlow Lite model: the mark TFL3 is missing")
	}
	d := &decoder{buffer: newBuffer(data), file: &model{data: data}}
	d.model(d.root())
	if d.err != nil {
		return nil, d.err
	}
	return d.file, nil
}

// A decoder turns tables into the structs of this package.
type decoder struct {
	*buffer
	file    *model
	codes   []operator
	buffers [][]byte
}

func (d *decoder) model(t table) {
	m := d.file
	if m.version = t.i32(0, 0); m.version != 3 && d.err == nil {
		d.fail("version %d of the format is not supported; version 3 is", m.version)
	}
	m.description = t.str(3)
	for _, c := range t.tables(1, 96) {
		d.codes = append(d.codes, d.code(c))
	}
	for i, b := range t.tables(4, 24) {
		d.buffers = append(d.buffers, d.bufferOf(b, i))
	}
	for i, s := range t.tables(2, 160) {
		g := d.subgraph(s)
		if d.err != nil {
			d.err = fmt.Errorf("sub-graph %d: %w", i, d.err)
			return
		}
		m.graphs = append(m.graphs, g)
	}
	if d.err == nil && len(m.graphs) == 0 {
		d.fail("the model has no graph: damaged, or not a model")
	}
	for _, s := range t.tables(7, 200) {
		m.signatures = append(m.signatures, signature{key: s.str(2), inputs: d.names(s.tables(0, 48)), outputs: d.names(s.tables(1, 48)), graph: s.u32At(4)})
	}
	d.metadata(t)
	if d.err == nil {
		d.err = m.check()
	}
}

func (d *decoder) names(list []table) map[string]int {
	names := map[string]int{}
	for _, t := range list {
		names[t.str(0)] = t.u32At(1)
	}
	return names
}

func (d *decoder) code(t table) operator {
	code := max(t.i8(0, 0), t.i32(3, 0))
	o := operator{version: t.i32(2, 1)}
	switch {
	case code == customCode:
		o.name, o.custom = t.str(1), true
	case code >= 0 && code < len(builtins):
		o.name = builtins[code]
	default:
		o.name = fmt.Sprintf("operator %d", code)
	}
	return o
}

// bufferOf is the bytes of a buffer, which may lie behind the flatbuffer; nil where it has none.
func (d *decoder) bufferOf(t table, i int) []byte {
	if offset := t.u64(1); offset > 1 {
		size, all := t.u64(2), uint64(len(d.data))
		if offset > all || size > all-offset {
			d.fail("buffer %d: %d bytes at %d lie outside of the file of %d: damaged or cut short", i, size, offset, all)
			return nil
		}
		return d.data[offset : offset+size]
	}
	if b := t.bytes(0, 1); len(b) > 0 {
		return b
	}
	return nil
}

func (d *decoder) subgraph(t table) *subgraph {
	g := &subgraph{name: t.str(4)}
	names := map[string]bool{}
	for i, x := range t.tables(0, 400) {
		info := d.tensor(x, i)
		if info.name == "" || names[info.name] {
			info.name = fmt.Sprintf("%s#%d", info.name, i)
		}
		names[info.name] = true
		g.tensors = append(g.tensors, info)
		if d.err != nil {
			d.err = fmt.Errorf("tensor %d (%q): %w", i, info.name, d.err)
			return g
		}
	}
	g.inputs, g.outputs = d.refs(g, t.ints(1), false), d.refs(g, t.ints(2), false)
	for i, x := range t.tables(3, 300) {
		o := d.operator(g, x)
		if d.err != nil {
			d.err = fmt.Errorf("operator %d (%s): %w", i, o.name, d.err)
			return g
		}
		g.operators = append(g.operators, o)
	}
	return g
}

func (d *decoder) tensor(t table, i int) *tensorInfo {
	x := &tensorInfo{name: t.str(3), elem: elemType(t.i8(1, 0)), shape: t.ints(0), signature: t.ints(7), variable: t.i8(5, 0) != 0, sparsity: t.child(6)}
	if b := t.u32At(2); b < len(d.buffers) {
		x.data = d.buffers[b]
	} else if b > 0 {
		d.fail("its buffer is number %d of %d: damaged", b, len(d.buffers))
	}
	q := t.child(4)
	x.quant = quantization{scale: q.floats(2), zero: q.longs(3), axis: q.i32(6, 0)}
	if q.u8(4) != 0 {
		d.fail("its quantisation is of a kind of its own, which is not supported")
	}
	for _, n := range x.shape {
		if n < 0 {
			x.signature = x.shape
		}
	}
	return x
}

// refs are the tensors at indices; -1 is one that is absent, where that may be.
func (d *decoder) refs(g *subgraph, indices []int, absent bool) []*tensorInfo {
	if !d.take(8 * len(indices)) {
		return nil
	}
	out := make([]*tensorInfo, len(indices))
	for k, i := range indices {
		switch {
		case i == -1 && absent:
		case i < 0 || i >= len(g.tensors):
			d.fail("it names tensor %d of %d: damaged", i, len(g.tensors))
			return nil
		default:
			out[k] = g.tensors[i]
		}
	}
	return out
}

func (d *decoder) operator(g *subgraph, t table) *operator {
	at := t.u32At(0)
	if at >= len(d.codes) {
		d.fail("its code is number %d of %d: damaged", at, len(d.codes))
		return &operator{}
	}
	o := d.codes[at]
	o.in, o.out, o.intermediates = d.refs(g, t.ints(1), true), d.refs(g, t.ints(2), true), d.refs(g, t.ints(8), true)
	if o.options = t.child(4); o.options.buffer == nil {
		o.options = t.child(12)
	}
	o.customOptions = t.bytes(5, 1)
	return &o
}
