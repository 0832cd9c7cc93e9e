// Package hdf5 reads HDF5 files as Keras and Caffe write them (HDF5 File Format Specification 3.0): groups of both generations,
// attributes, and arrays that are contiguous, compact or in chunks. Arrays are views of the file's bytes where that holds them
// as they are; nothing is decoded before it is asked for.
//
// Files are untrusted. Sizes are compared with the bytes that are left before memory is taken, structures are parsed once
// each, and both what is parsed and what is unpacked is bounded by the size of the file.
package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Signature is what the file's part in HDF5 begins with, at 0 or at a power of two from 512 on.
const Signature = "\x89HDF\r\n\x1a\n"

// A File is an HDF5 file in memory. It is not safe for concurrent use.
type File struct {
	data     []byte // from the base address on, to which all addresses relate
	offset   int    // size of addresses in bytes
	length   int    // size of lengths in bytes
	root     uint64 // header of the root group
	objects  map[uint64]*Object
	heaps    map[uint64]map[uint16][]byte // global heaps: objects by index
	parse    int                          // bytes of structure that may still be parsed
	unpacked int                          // bytes that may still be unpacked
}

// What a file may cost for each of its bytes, and for any file. Structures are parsed once, so that few are more than the file;
// weights shrink little, but those of a network that was never trained may be zeros.
const (
	parsePerByte, parseBase   = 4, 1 << 16
	unpackPerByte, unpackBase = 64, 1 << 24
)

// Open reads the superblock of a file. data must stay as it is while the file and its arrays are in use.
func Open(data []byte) (*File, error) {
	at, ok := Find(data)
	if !ok {
		return nil, errors.New("hdf5: no signature: it is not an HDF5 file")
	}
	f := &File{objects: map[uint64]*Object{}, heaps: map[uint64]map[uint16][]byte{},
		parse: parsePerByte*len(data) + parseBase, unpacked: unpackPerByte*len(data) + unpackBase}
	if err := f.superblock(data[at:]); err != nil {
		return nil, fmt.Errorf("hdf5: superblock at %#x: %w", at, err)
	}
	return f, nil
}

// Find returns where the part in HDF5 begins; programs may put something of their own in front of it.
func Find(data []byte) (at int, ok bool) {
	for at = 0; at <= len(data)-len(Signature); at = max(512, 2*at) {
		if bytes.HasPrefix(data[at:], []byte(Signature)) {
			return at, true
		}
	}
	return 0, false
}

// superblock reads the file's parameters. Addresses relate to the superblock itself: the base address that it states is
// where it was in the file that was written, which user blocks and archives move.
func (f *File) superblock(data []byte) error {
	f.data = data
	c := &cursor{f: f, rest: data}
	c.skip(len(Signature))
	version := c.u8()
	sizes := func() { f.offset, f.length = int(c.u8()), int(c.u8()) }
	switch version {
	case 0, 1:
		c.skip(4)
		sizes()
		c.skip(1 + 2 + 2 + 4 + 4*int(version))
	case 2, 3:
		sizes()
		c.skip(1)
	default:
		return fmt.Errorf("version %d is not supported", version)
	}
	if c.err == nil && (!validSize(f.offset) || !validSize(f.length)) {
		return fmt.Errorf("addresses of %d and lengths of %d bytes", f.offset, f.length)
	}
	base := c.address()
	c.skip(f.offset) // extension or free space
	end := c.address()
	if version < 2 {
		c.skip(2 * f.offset) // driver, name of the root group
	}
	f.root = c.address()
	if c.err == nil && end != undefined && end >= base && end-base > uint64(len(data)) {
		return fmt.Errorf("the file has %d bytes of %d: cut short", len(data), end-base)
	}
	return c.err
}

func validSize(n int) bool { return n == 2 || n == 4 || n == 8 }

// Root is the group that holds all others.
func (f *File) Root() (*Object, error) { return f.object(f.root, "/") }

// undefined is the address of what is not there.
const undefined = ^uint64(0)

// at returns a cursor over the file from an address on.
func (f *File) at(address uint64) *cursor {
	c := &cursor{f: f}
	if address >= uint64(len(f.data)) {
		c.fail(fmt.Errorf("address %#x is beyond the end of the file: cut short or damaged", address))
		return c
	}
	c.rest = f.data[address:]
	return c
}

// section is size bytes from an address on, in place.
func (f *File) section(address, size uint64) ([]byte, error) {
	if end := uint64(len(f.data)); address > end || size > end-address {
		return nil, fmt.Errorf("%d bytes at %#x are beyond the end of the file: cut short or damaged", size, address)
	}
	return f.data[address : address+size : address+size], nil
}

// A cursor reads structures, little endian. The first error stays; what is read behind it is zero.
type cursor struct {
	f    *File
	rest []byte
	err  error
}

func (c *cursor) fail(err error) {
	if c.err == nil && err != nil {
		c.err, c.rest = err, nil
	}
}

// bytes are the next n bytes, in place, or n or fewer zeros behind an error.
func (c *cursor) bytes(n uint64) []byte {
	switch {
	case c.err != nil:
	case n > uint64(len(c.rest)):
		c.fail(fmt.Errorf("it needs %d bytes where %d are left: cut short or damaged", n, len(c.rest)))
	case n > uint64(c.f.parse):
		c.fail(errors.New("the file's structures refer to each other more often than any sensible file's: damaged or made to harm"))
	default:
		b := c.rest[:n:n]
		c.f.parse -= int(n)
		c.rest = c.rest[n:]
		return b
	}
	return make([]byte, min(n, 8))
}

func (c *cursor) skip(n int)  { c.bytes(uint64(n)) }
func (c *cursor) u8() uint8   { return c.bytes(1)[0] }
func (c *cursor) u16() uint16 { return binary.LittleEndian.Uint16(c.bytes(2)) }
func (c *cursor) u32() uint32 { return binary.LittleEndian.Uint32(c.bytes(4)) }

// uint is an integer of n bytes, 1 to 8.
func (c *cursor) uint(n int) uint64 {
	var v [8]byte
	copy(v[:], c.bytes(uint64(n)))
	return binary.LittleEndian.Uint64(v[:])
}

func (c *cursor) size() uint64 { return c.uint(c.f.length) }

// address is an address, undefined in whatever width.
func (c *cursor) address() uint64 {
	v := c.uint(c.f.offset)
	if c.err == nil && v == undefined>>(64-8*c.f.offset) {
		return undefined
	}
	return v
}

// signed expects four letters.
func (c *cursor) signed(mark string) {
	if got := c.bytes(uint64(len(mark))); c.err == nil && string(got) != mark {
		c.fail(fmt.Errorf("it should begin with %s, not %q", mark, got))
	}
}

// version expects a version number that this package knows.
func (c *cursor) version(of string, known ...uint8) uint8 {
	v := c.u8()
	if c.err == nil && !bytes.Contains(known, []byte{v}) {
		c.fail(fmt.Errorf("version %d of %s is not supported", v, of))
	}
	return v
}
