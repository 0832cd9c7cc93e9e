package hdf5

import (
	"bytes"
	"errors"
	"fmt"
)

// Array returns the array that the object is, or nil for a group.
func (o *Object) Array() (*Array, error) {
	layout, err := o.message(messageLayout)
	if err != nil || layout == nil {
		return nil, err
	}
	a := &Array{Path: o.Path, file: o.file}
	if err := o.dataset(a, layout); err != nil {
		return nil, fmt.Errorf("hdf5: %s: %w", o.Path, err)
	}
	return a, nil
}

func (o *Object) dataset(a *Array, layout *cursor) error {
	kind, err := o.message(messageType)
	if err != nil {
		return err
	}
	space, err := o.message(messageSpace)
	if err != nil {
		return err
	}
	if kind == nil || space == nil {
		return errors.New("an array without type or shape: damaged")
	}
	if a.Type, err = elementType(kind); err != nil {
		return err
	}
	size, err := a.space(space)
	if err != nil {
		return err
	}
	fill, err := o.fillValue(a.Type)
	if err != nil {
		return err
	}
	const compact, contiguous, chunked = 0, 1, 2
	version := layout.version("a data layout", 3, 4)
	switch class := layout.u8(); {
	case layout.err != nil:
	case class == compact:
		data := layout.bytes(uint64(layout.u16()))
		a.read = func() ([]byte, error) { return exactly(data, size) }
	case class == contiguous:
		address, stored := layout.address(), layout.size()
		a.read = func() ([]byte, error) {
			if address == undefined {
				return o.file.filled(fill, size)
			}
			if stored < size {
				return nil, fmt.Errorf("%d bytes are stored of %d", stored, size)
			}
			return o.file.section(address, size)
		}
	case class == chunked:
		ch := &chunks{file: o.file, size: size, dims: a.Dims, element: a.Type.Size, fill: fill}
		if ch.filters, err = o.filters(); err != nil {
			return err
		}
		if version == 3 {
			ch.layout3(layout)
		} else {
			ch.layout4(layout)
		}
		a.read = ch.read
	default:
		return fmt.Errorf("a data layout of class %d is not supported", class)
	}
	return layout.err
}

// exactly is data, if it has so many bytes.
func exactly(data []byte, size uint64) ([]byte, error) {
	if uint64(len(data)) != size {
		return nil, fmt.Errorf("%d bytes are stored of %d", len(data), size)
	}
	return data, nil
}

// fillValue is the element that stands where nothing was written; nil is zero.
func (o *Object) fillValue(t Type) ([]byte, error) {
	c, err := o.message(messageFill)
	if err != nil || c == nil {
		return nil, err
	}
	defined := true
	if version := c.version("a fill value", 1, 2, 3); version == 3 {
		defined = c.u8()&0x20 != 0
	} else {
		c.skip(2)
		defined = c.u8() != 0
	}
	if !defined || c.err != nil {
		return nil, c.err
	}
	value := c.bytes(uint64(c.u32()))
	if c.err != nil || len(value) != t.Size || bytes.Count(value, []byte{0}) == len(value) {
		return nil, c.err
	}
	return value, nil
}

// unpack pays for memory.
func (f *File) unpack(size uint64) error {
	if size > uint64(f.unpacked) {
		return fmt.Errorf("its %d bytes, with what was unpacked before, are more than %d times the file: damaged or made to harm", size, unpackPerByte)
	}
	f.unpacked -= int(size)
	return nil
}

// filled is memory of so many bytes with the fill value in each element.
func (f *File) filled(fill []byte, size uint64) ([]byte, error) {
	if err := f.unpack(size); err != nil {
		return nil, err
	}
	if fill != nil {
		return bytes.Repeat(fill, int(size)/len(fill)), nil
	}
	return make([]byte, size), nil
}
