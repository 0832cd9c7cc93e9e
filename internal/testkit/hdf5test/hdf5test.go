// Package hdf5test writes HDF5 files for tests: groups with attributes of text, and arrays of float32 in one piece, in the newer of the
// format's two forms (HDF5 File Format Specification 3.0, superblock 2).
package hdf5test

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Group is a group to be written.
type Group struct {
	attrs  map[string][]string
	groups map[string]*Group
	arrays map[string]array
}

type array struct {
	shape []int
	data  []float32
}

// New is a group without members.
func New() *Group {
	return &Group{attrs: map[string][]string{}, groups: map[string]*Group{}, arrays: map[string]array{}}
}

// At is the group at a path below g, which is made where it is not there.
func (g *Group) At(path string) *Group {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		if g.groups[name] == nil {
			g.groups[name] = New()
		}
		g = g.groups[name]
	}
	return g
}

// Texts sets an attribute.
func (g *Group) Texts(name string, list ...string) { g.attrs[name] = list }

// Array puts an array at a path below g.
func (g *Group) Array(path string, shape []int, data []float32) {
	at := strings.LastIndexByte(path, '/') + 1
	g.At(path[:at]).arrays[path[at:]] = array{shape, data}
}

// File is the file with g as its root.
func File(g *Group) []byte {
	w := &writer{b: make([]byte, 48)}
	root := w.group(g)
	copy(w.b, "\x89HDF\r\n\x1a\n\x02\x08\x08\x00")
	for i, v := range []uint64{0, undefined, uint64(len(w.b)), root} {
		binary.LittleEndian.PutUint64(w.b[12+8*i:], v)
	}
	return w.b
}

const undefined = ^uint64(0)

// A writer appends structures; those that others refer to come first.
type writer struct{ b []byte }

func u16(b []byte, v ...int) []byte {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint16(b, uint16(x))
	}
	return b
}

func u32(b []byte, v int) []byte    { return binary.LittleEndian.AppendUint32(b, uint32(v)) }
func u64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

// message is a message of an object's header.
func message(kind int, body []byte) []byte {
	return append(append(u16([]byte{byte(kind)}, len(body)), 0), body...)
}

// object writes a header with its messages and returns its address.
func (w *writer) object(messages []byte) uint64 {
	w.align()
	at := uint64(len(w.b))
	w.b = u32(append(w.b, "OHDR\x02\x02"...), len(messages))
	w.b = u32(append(w.b, messages...), 0) // the reader takes any checksum
	return at
}

func (w *writer) align() { w.b = append(w.b, make([]byte, -len(w.b)&7)...) }

func (w *writer) group(g *Group) uint64 {
	messages := message(2, u64(u64([]byte{0, 0}, undefined), undefined))
	link := func(name string, at uint64) {
		body := append(u16([]byte{1, 1}, len(name)), name...)
		messages = append(messages, message(6, u64(body, at))...)
	}
	for _, name := range slices.Sorted(maps.Keys(g.groups)) {
		link(name, w.group(g.groups[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(g.arrays)) {
		link(name, w.array(g.arrays[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(g.attrs)) {
		messages = append(messages, message(12, w.attribute(name, g.attrs[name]))...)
	}
	return w.object(messages)
}

// space is a dataspace.
func space(shape ...int) []byte {
	b := []byte{2, byte(len(shape)), 0, 1}
	for _, d := range shape {
		b = u64(b, uint64(d))
	}
	return b
}

func (w *writer) array(a array) uint64 {
	w.align()
	at := uint64(len(w.b))
	w.b = slices.Grow(w.b, 4*len(a.data)+1<<10)
	for _, v := range a.data {
		w.b = binary.LittleEndian.AppendUint32(w.b, math.Float32bits(v))
	}
	kind := []byte{0x11, 0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0}
	layout := u64(u64([]byte{3, 1}, at), uint64(4*len(a.data)))
	return w.object(slices.Concat(message(1, space(a.shape...)), message(3, kind), message(8, layout)))
}

// attribute is a list of texts, which are kept in a heap.
func (w *writer) attribute(name string, list []string) []byte {
	w.align()
	heap := uint64(len(w.b))
	objects, data := []byte(nil), []byte(nil)
	for i, text := range list {
		objects = append(u64(u32(u16(objects, i+1, 0), 0), uint64(len(text))), text...)
		objects = append(objects, make([]byte, -len(text)&7)...)
		data = u32(u64(u32(data, len(text)), heap), i+1)
	}
	w.b = append(u64(append(w.b, "GCOL\x01\x00\x00\x00"...), uint64(16+len(objects))), objects...)
	kind := append(u32([]byte{0x19, 1, 0, 0}, 16), 0x13, 0, 0, 0, 1, 0, 0, 0)
	shape := space(len(list))
	body := append(u16([]byte{3, 0}, len(name)+1, len(kind), len(shape)), 0)
	return slices.Concat(body, []byte(name), []byte{0}, kind, shape, data)
}
