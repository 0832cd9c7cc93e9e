package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// A Kind is what the elements of an array are.
type Kind uint8

// The kinds that are read. Text is of a fixed size or of any.
const (
	Int Kind = iota
	Uint
	Float
	Bool
	Text
)

// A Type is the type of an element.
type Type struct {
	Kind      Kind
	Size      int // bytes in the file
	bigEndian bool
	variable  bool // texts in a heap
}

// An Array is the value of a dataset or an attribute.
type Array struct {
	Type Type
	Dims []int // none: one element
	Path string
	file *File
	read func() ([]byte, error)
}

// Len is the number of elements.
func (a *Array) Len() int {
	n := 1
	for _, d := range a.Dims {
		n *= d
	}
	return n
}

// Bytes are the elements, row by row, little endian: the bytes of the file where it has them so.
func (a *Array) Bytes() ([]byte, error) {
	data, err := a.read()
	if err != nil {
		return nil, fmt.Errorf("hdf5: %s: %w", a.Path, err)
	}
	if a.Type.bigEndian && a.Type.Size > 1 {
		if err := a.file.unpack(uint64(len(data))); err != nil {
			return nil, fmt.Errorf("hdf5: %s: %w", a.Path, err)
		}
		data = slices.Clone(data)
		for e := range slices.Chunk(data, a.Type.Size) {
			slices.Reverse(e)
		}
	}
	return data, nil
}

// Texts are the elements of an array of texts. One without elements may be of any type: numpy's empty lists are floats.
func (a *Array) Texts() ([]string, error) {
	data, err := a.read()
	if err == nil && a.Type.Kind != Text && len(data) > 0 {
		err = errors.New("it holds numbers, not text")
	}
	var list []string
	for ; err == nil && len(data) > 0; data = data[a.Type.Size:] {
		e := data[:a.Type.Size]
		if a.Type.variable {
			e, err = a.file.heapObject(e)
		}
		if err == nil {
			err = a.file.unpack(uint64(len(e)))
		}
		text, _, _ := bytes.Cut(e, []byte{0})
		list = append(list, string(text))
	}
	if err != nil {
		return nil, fmt.Errorf("hdf5: %s: %w", a.Path, err)
	}
	return list, nil
}

// Attr returns an attribute, or nil where the object has none of that name.
func (o *Object) Attr(name string) (*Array, error) {
	for _, m := range o.messages {
		if m.kind != messageAttribute {
			continue
		}
		a, got, err := o.attribute(m, name)
		if err != nil {
			return nil, fmt.Errorf("hdf5: %s: attribute %q: %w", o.Path, got, err)
		}
		if a != nil {
			return a, nil
		}
	}
	c, err := o.message(messageAttributeInfo)
	if err != nil || c == nil {
		return nil, err
	}
	if dense(c, 2) {
		return nil, fmt.Errorf("hdf5: %s: an object with dense attributes is not supported (write it with libver='earliest')", o.Path)
	}
	return nil, c.err
}

// Texts are the elements of a text attribute, or of the parts NAME0, NAME1 and so on, into which Keras cuts long lists. ok is
// whether there is one.
func (o *Object) Texts(name string) (list []string, ok bool, err error) {
	a, err := o.Attr(name)
	if a != nil {
		list, err = a.Texts()
		return list, true, err
	}
	for i := 0; err == nil; i++ {
		if a, err = o.Attr(fmt.Sprintf("%s%d", name, i)); a == nil {
			break
		}
		var part []string
		part, err = a.Texts()
		list, ok = append(list, part...), true
	}
	return list, ok, err
}

// attribute reads an attribute message; nil where it is of another name.
func (o *Object) attribute(m message, want string) (a *Array, name string, err error) {
	if m.shared {
		return nil, "", errShared
	}
	c := &cursor{f: o.file, rest: m.body}
	version := c.version("an attribute", 1, 2, 3)
	shared := c.u8()
	sizes := [3]uint16{c.u16(), c.u16(), c.u16()} // of name, type and space
	if version == 3 {
		c.skip(1)
	}
	var parts [3][]byte
	for i, n := range sizes {
		parts[i] = c.bytes(uint64(n))
		if pad := -int(n) & 7; version == 1 && len(c.rest) >= pad {
			c.skip(pad)
		}
	}
	if c.err != nil {
		return nil, "", c.err
	}
	text, _, _ := bytes.Cut(parts[0], []byte{0})
	if name = string(text); name != want {
		return nil, name, nil
	}
	if version > 1 && shared != 0 {
		return nil, name, errShared
	}
	a = &Array{Path: o.Path + " attribute " + name, file: o.file}
	if a.Type, err = elementType(&cursor{f: o.file, rest: parts[1]}); err != nil {
		return nil, name, err
	}
	size, err := a.space(&cursor{f: o.file, rest: parts[2]})
	if err != nil {
		return nil, name, err
	}
	data := c.bytes(size)
	a.read = func() ([]byte, error) { return data, nil }
	return a, name, c.err
}

// maxRank is the specification's.
const maxRank = 32

// space reads a dataspace message and returns the size of the elements in bytes, which fits an int.
func (a *Array) space(c *cursor) (uint64, error) {
	version := c.version("a dataspace", 1, 2)
	rank, flags := int(c.u8()), c.u8()
	if version == 1 {
		c.skip(5)
	} else if kind := c.u8(); kind == 2 {
		return 0, errors.New("it has no elements (null dataspace)")
	}
	_ = flags // whether greatest extents follow
	if rank > maxRank {
		return 0, fmt.Errorf("%d dimensions", rank)
	}
	size := uint64(a.Type.Size)
	const most = 1 << 48
	for range rank {
		d := c.size()
		if d > most || d > 0 && size > most/d {
			return 0, fmt.Errorf("an extent of %d in an array of more than 2^48 bytes", d)
		}
		size *= d
		a.Dims = append(a.Dims, int(d))
	}
	return size, c.err
}

// elementType reads a datatype message.
func elementType(c *cursor) (Type, error) {
	head := c.u32()
	class, bits := head&15, head>>8
	t := Type{Size: int(c.u32()), bigEndian: bits&1 != 0}
	if c.err == nil && (t.Size < 1 || t.Size > 1<<20) {
		return t, fmt.Errorf("elements of %d bytes", t.Size)
	}
	number := t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8
	switch {
	case class == 0 && number:
		t.Kind = Uint
		if bits&8 != 0 {
			t.Kind = Int
		}
		offset, precision := c.u16(), c.u16()
		if c.err == nil && (offset != 0 || int(precision) != 8*t.Size) {
			return t, fmt.Errorf("integers of %d bits in %d bytes are not supported", precision, t.Size)
		}
	case class == 1 && number:
		t.Kind = Float
		c.skip(4 + 1)
		exponent := c.u8()
		if want := map[int]uint8{2: 5, 4: 8, 8: 11}[t.Size]; c.err == nil && (exponent != want || bits&0x40 != 0) {
			return t, fmt.Errorf("floats of %d bytes with exponents of %d bits are not supported", t.Size, exponent)
		}
	case class == 3:
		t.Kind, t.bigEndian = Text, false
	case class == 8:
		base, err := elementType(c)
		if err != nil || base.Size != 1 || t.Size != 1 {
			return t, errors.New("enumerations other than bool are not supported")
		}
		t = Type{Kind: Bool, Size: 1}
	case class == 9 && bits&15 == 1:
		t.Kind, t.variable, t.bigEndian = Text, true, false
		if t.Size != 4+c.f.offset+4 {
			return t, fmt.Errorf("references of %d bytes to texts", t.Size)
		}
	default:
		names := [...]string{"integer", "float", "time", "string", "bit field", "opaque", "compound", "reference", "enumeration", "variable-length", "array"}
		if int(class) < len(names) {
			return t, fmt.Errorf("elements of the %s type with %d bytes are not supported", names[class], t.Size)
		}
		return t, fmt.Errorf("elements of class %d", class)
	}
	return t, c.err
}

// heapObject is what a reference of length, collection and index stands for.
func (f *File) heapObject(reference []byte) ([]byte, error) {
	c := &cursor{f: f, rest: reference}
	n, collection, index := c.u32(), c.address(), c.u32()
	if c.err != nil || n == 0 {
		return nil, c.err
	}
	objects, ok := f.heaps[collection]
	if !ok {
		var err error
		if objects, err = f.globalHeap(collection); err != nil {
			return nil, fmt.Errorf("heap at %#x: %w", collection, err)
		}
		f.heaps[collection] = objects
	}
	b, ok := objects[uint16(index)]
	if !ok || uint64(n) > uint64(len(b)) || index > 1<<16-1 {
		return nil, fmt.Errorf("text of %d bytes as object %d of the heap at %#x, which has no such object", n, index, collection)
	}
	return b[:n], nil
}

// globalHeap lists the objects of a collection.
func (f *File) globalHeap(address uint64) (map[uint16][]byte, error) {
	c := f.at(address)
	c.signed("GCOL")
	c.version("a heap", 1)
	c.skip(3)
	size, head := c.size(), uint64(8+f.length)
	if c.err != nil || size < head {
		c.fail(fmt.Errorf("a heap of %d bytes", size))
		return nil, c.err
	}
	c.rest = c.rest[:min(size-head, uint64(len(c.rest)))]
	objects := map[uint16][]byte{}
	for len(c.rest) >= int(head) && c.err == nil {
		index := c.u16()
		if index == 0 {
			break // free space
		}
		c.skip(6)
		n := c.size()
		objects[index] = c.bytes(n)
		c.skip(min(-int(n)&7, len(c.rest)))
	}
	return objects, c.err
}
