package hdf5

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// chunks are an array stored in blocks of one shape, of which those at the borders reach beyond it.
type chunks struct {
	file    *File
	size    uint64 // of the array, in bytes
	dims    []int
	chunk   []int // extents of a block
	element int
	fill    []byte
	filters []filter
	each    func(visit func(origin []int, stored []byte, mask uint32) error) error
}

// layout3 reads chunk extents and the B-tree of chunks.
func (c *chunks) layout3(l *cursor) {
	rank := int(l.u8())
	c.tree(l.address(), rank)
	c.extents(l, rank, 4)
}

// layout4 reads the later form, whose index is one of several.
func (c *chunks) layout4(l *cursor) {
	const onlyFiltered = 2
	flags, rank := l.u8(), int(l.u8())
	width := int(l.u8())
	if width < 1 || width > 8 {
		l.fail(fmt.Errorf("chunk extents of %d bytes", width))
		return
	}
	if c.extents(l, rank, width); l.err != nil {
		return
	}
	size, mask := uint64(c.bytesOfChunk()), uint32(0)
	switch index := l.u8(); index {
	case 1:
		if flags&onlyFiltered != 0 {
			size, mask = l.size(), l.u32()
		}
		address := l.address()
		c.each = func(visit func([]int, []byte, uint32) error) error {
			if address == undefined {
				return nil
			}
			stored, err := c.file.section(address, size)
			if err != nil {
				return err
			}
			return visit(make([]int, len(c.dims)), stored, mask)
		}
	default:
		l.fail(fmt.Errorf("chunks with an index of kind %d are not supported (write the file with libver='earliest')", index))
	}
}

// extents reads the extents of a chunk, of which the last is the size of an element.
func (c *chunks) extents(l *cursor, rank, width int) {
	if l.err == nil && rank != len(c.dims)+1 {
		l.fail(fmt.Errorf("chunks of %d dimensions for %d", rank-1, len(c.dims)))
	}
	total := uint64(c.element)
	for range c.dims {
		d := l.uint(width)
		if l.err == nil && (d == 0 || d > 1<<31 || total > 1<<32/d) {
			l.fail(fmt.Errorf("a chunk of an extent of %d, or of more than 2^32 bytes", d))
		}
		total *= d
		c.chunk = append(c.chunk, int(d))
	}
	if e := l.uint(width); l.err == nil && e != uint64(c.element) {
		l.fail(fmt.Errorf("chunks with elements of %d bytes for %d", e, c.element))
	}
}

// tree takes the chunks from a B-tree, whose keys are size, filters that were left out, and origin.
func (c *chunks) tree(root uint64, rank int) {
	c.each = func(visit func(origin []int, stored []byte, mask uint32) error) error {
		if root == undefined {
			return nil
		}
		return c.file.tree(root, treeOfChunks, -1, 8+8*rank, func(key []byte, address uint64) error {
			origin := make([]int, len(c.dims))
			for k := range origin {
				origin[k] = int(binary.LittleEndian.Uint64(key[8+8*k:]))
			}
			stored, err := c.file.section(address, uint64(binary.LittleEndian.Uint32(key)))
			if err != nil {
				return err
			}
			return visit(origin, stored, binary.LittleEndian.Uint32(key[4:]))
		})
	}
}

func (c *chunks) bytesOfChunk() int {
	n := c.element
	for _, d := range c.chunk {
		n *= d
	}
	return n
}

// read joins the chunks.
func (c *chunks) read() ([]byte, error) {
	out, err := c.file.filled(c.fill, c.size)
	if err != nil {
		return nil, err
	}
	return out, c.each(func(origin []int, stored []byte, mask uint32) error {
		for k, at := range origin {
			if at < 0 || at%c.chunk[k] != 0 || at >= c.dims[k] {
				return fmt.Errorf("a chunk at %v of an array of shape %v", origin, c.dims)
			}
		}
		size := c.bytesOfChunk()
		for i, f := range slices.Backward(c.filters) {
			if mask>>i&1 != 0 {
				continue
			}
			if stored, err = f.undo(c.file, stored, size); err != nil {
				return fmt.Errorf("the chunk at %v: %w", origin, err)
			}
		}
		if len(stored) != size {
			return fmt.Errorf("the chunk at %v has %d bytes, not %d", origin, len(stored), size)
		}
		c.place(out, stored, origin)
		return nil
	})
}

// place copies the part of a chunk that lies within the array, row by row.
func (c *chunks) place(out, chunk []byte, origin []int) {
	if len(c.dims) == 0 {
		copy(out, chunk)
		return
	}
	var copyFrom func(k, to, from int)
	copyFrom = func(k, to, from int) {
		n := min(c.chunk[k], c.dims[k]-origin[k])
		to, from = to*c.dims[k]+origin[k], from*c.chunk[k]
		if k == len(c.dims)-1 {
			copy(out[to*c.element:(to+n)*c.element], chunk[from*c.element:])
			return
		}
		for i := range n {
			copyFrom(k+1, to+i, from+i)
		}
	}
	copyFrom(0, 0, 0)
}
