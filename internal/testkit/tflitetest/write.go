// Package tflitetest writes small TensorFlow Lite files for tests: a flatbuffer from values, in the slots of schema.fbs.
package tflitetest

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// A Table is a table of a flatbuffer: values by slot. A value is a bool, int8, uint8, int32, uint32, float32, string, []byte, []int32, []int64,
// []float32, Table or []Table.
type Table map[int]any

// A Tensor is one value of a graph. Without Data it is computed, or an input.
type Tensor struct {
	Name     string
	Type     int8 // the number of the element type
	Shape    []int32
	Data     []byte
	Scale    []float32
	Zero     []int64
	Axis     int32
	Variable bool
	Sparsity Table
}

// An Operator applies a builtin operator by its number, or a custom one by its name.
type Operator struct {
	Code          int32
	Custom        string
	In, Out       []int32
	Options       Table
	CustomOptions []byte
	Intermediates []int32
}

// A Graph is a graph of a model; Inputs and Outputs are places in Tensors.
type Graph struct {
	Tensors         []Tensor
	Inputs, Outputs []int32
	Operators       []Operator
}

// customCode is the number of operators that have a name instead.
const customCode = 32

// A Beside is what a file has beside its graphs.
type Beside struct {
	Signatures []Table
	Metadata   Table             // the root of TFLite's metadata
	Members    map[string]string // of a zip archive behind the flatbuffer
}

// Model is a file of graphs, the first of which is what runs.
func Model(graphs ...Graph) []byte { return Beside{}.Model(graphs...) }

// Model is a file of graphs with more beside them.
func (o Beside) Model(graphs ...Graph) []byte {
	var codes, buffers, list []Table
	buffers = append(buffers, Table{}) // the empty one
	for _, g := range graphs {
		var tensors, operators []Table
		for _, t := range g.Tensors {
			x := Table{0: t.Shape, 1: t.Type, 3: t.Name}
			if t.Data != nil {
				x[2] = uint32(len(buffers))
				buffers = append(buffers, Table{0: t.Data})
			}
			if t.Scale != nil {
				x[4] = Table{2: t.Scale, 3: t.Zero, 6: t.Axis}
			}
			if t.Variable {
				x[5] = true
			}
			if t.Sparsity != nil {
				x[6] = t.Sparsity
			}
			tensors = append(tensors, x)
		}
		for _, o := range g.Operators {
			x := Table{0: uint32(len(codes)), 1: o.In, 2: o.Out}
			if o.Options != nil {
				x[3], x[4] = uint8(1), o.Options
			}
			if o.CustomOptions != nil {
				x[5] = o.CustomOptions
			}
			if o.Intermediates != nil {
				x[8] = o.Intermediates
			}
			operators = append(operators, x)
			code := Table{0: int8(min(o.Code, math.MaxInt8)), 2: int32(1), 3: o.Code}
			if o.Custom != "" {
				code = Table{0: int8(customCode), 1: o.Custom, 3: int32(customCode)}
			}
			codes = append(codes, code)
		}
		list = append(list, Table{0: tensors, 1: g.Inputs, 2: g.Outputs, 3: operators})
	}
	root := Table{0: uint32(3), 1: codes, 2: list}
	if o.Signatures != nil {
		root[7] = o.Signatures
	}
	if o.Metadata != nil {
		root[6] = []Table{{0: "TFLITE_METADATA", 1: uint32(len(buffers))}}
		buffers = append(buffers, Table{0: flatbuffer("M001", o.Metadata)})
	}
	root[4] = buffers
	b := File(root)
	if o.Members == nil {
		return b
	}
	var tail bytes.Buffer
	z := zip.NewWriter(&tail)
	for _, name := range slices.Sorted(maps.Keys(o.Members)) {
		m, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(m, o.Members[name])
		}
		if err != nil {
			panic("tflitetest: " + err.Error())
		}
	}
	if err := z.Close(); err != nil {
		panic("tflitetest: " + err.Error())
	}
	return append(b, tail.Bytes()...)
}

// File is a flatbuffer of a model with a root table.
func File(root Table) []byte { return flatbuffer("TFL3", root) }

func flatbuffer(mark string, root Table) []byte {
	w := &writer{b: append(make([]byte, 4), mark...)}
	at := w.table(root)
	binary.LittleEndian.PutUint32(w.b, uint32(at))
	return w.b
}

// A writer appends: a table before what it points to.
type writer struct{ b []byte }

func (w *writer) align(n int) {
	for len(w.b)%n != 0 {
		w.b = append(w.b, 0)
	}
}

func (w *writer) u32(v uint32) { w.b = binary.LittleEndian.AppendUint32(w.b, v) }

// point sets the offset at a place to the end.
func (w *writer) point(at int) { binary.LittleEndian.PutUint32(w.b[at:], uint32(len(w.b)-at)) }

func (w *writer) table(t Table) int {
	w.align(4)
	slots := slices.Sorted(maps.Keys(t))
	count := 0
	if len(slots) > 0 {
		count = slots[len(slots)-1] + 1
	}
	fields := len(w.b)
	w.b = append(w.b, make([]byte, 4+2*count)...)
	w.align(4)
	pos := len(w.b)
	w.u32(uint32(pos - fields))
	places := map[int]int{}
	for _, s := range slots {
		places[s] = len(w.b)
		binary.LittleEndian.PutUint16(w.b[fields+4+2*s:], uint16(len(w.b)-pos))
		switch v := t[s].(type) {
		case bool:
			w.u32(map[bool]uint32{true: 1}[v])
		case int8:
			w.u32(uint32(uint8(v)))
		case uint8:
			w.u32(uint32(v))
		case int32:
			w.u32(uint32(v))
		case uint32:
			w.u32(v)
		case float32:
			w.u32(math.Float32bits(v))
		default:
			w.u32(0)
		}
	}
	binary.LittleEndian.PutUint16(w.b[fields:], uint16(4+2*count))
	binary.LittleEndian.PutUint16(w.b[fields+2:], uint16(len(w.b)-pos))
	for _, s := range slots {
		w.value(places[s], t[s])
	}
	return pos
}

// value writes what a slot points to.
func (w *writer) value(at int, v any) {
	vector := func(n int) {
		w.align(4)
		w.point(at)
		w.u32(uint32(n))
	}
	switch v := v.(type) {
	case bool, int8, uint8, int32, uint32, float32:
	case string:
		vector(len(v))
		w.b = append(append(w.b, v...), 0)
	case []byte:
		vector(len(v))
		w.b = append(w.b, v...)
	case []int32:
		vector(len(v))
		for _, x := range v {
			w.u32(uint32(x))
		}
	case []float32:
		vector(len(v))
		for _, x := range v {
			w.u32(math.Float32bits(x))
		}
	case []int64:
		vector(len(v))
		for _, x := range v {
			w.b = binary.LittleEndian.AppendUint64(w.b, uint64(x))
		}
	case []Table:
		vector(len(v))
		first := len(w.b)
		w.b = append(w.b, make([]byte, 4*len(v))...)
		for i, t := range v {
			pos := w.table(t)
			binary.LittleEndian.PutUint32(w.b[first+4*i:], uint32(pos-(first+4*i)))
		}
	case Table:
		pos := w.table(v)
		binary.LittleEndian.PutUint32(w.b[at:], uint32(pos-at))
	default:
		panic(fmt.Sprintf("tflitetest: a value of %T", v))
	}
}
