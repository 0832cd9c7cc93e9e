package hdf5

import (
	"errors"
	"fmt"
)

// Types of header messages, and the flag of one that is kept elsewhere.
const (
	messageSpace         = 0x01
	messageLinkInfo      = 0x02
	messageType          = 0x03
	messageFill          = 0x05
	messageLink          = 0x06
	messageLayout        = 0x08
	messageFilters       = 0x0B
	messageAttribute     = 0x0C
	messageContinuation  = 0x10
	messageSymbolTable   = 0x11
	messageAttributeInfo = 0x15

	flagShared = 2
)

// A message is one part of an object's header.
type message struct {
	kind   uint16
	shared bool
	body   []byte
}

// An Object is a group or an array, with attributes.
type Object struct {
	Path     string // by which it was first reached
	file     *File
	messages []message
	links    []link // of a group, once listed
	listed   bool
}

// object parses the header at an address, once.
func (f *File) object(address uint64, path string) (*Object, error) {
	if o := f.objects[address]; o != nil {
		return o, nil
	}
	o := &Object{Path: path, file: f}
	c := f.at(address)
	if len(c.rest) > 0 && c.rest[0] == 'O' {
		o.header2(c)
	} else {
		o.header1(c)
	}
	if c.err != nil {
		return nil, fmt.Errorf("hdf5: %s: header at %#x: %w", path, address, c.err)
	}
	f.objects[address] = o
	return o, nil
}

// header1 reads a header of version 1: all messages behind a prefix of 16 bytes, and in continuations.
func (o *Object) header1(c *cursor) {
	c.version("an object header", 1)
	c.skip(1)
	count := int(c.u16())
	c.skip(4)
	size := c.u32()
	c.skip(4)
	blocks := [][]byte{c.bytes(uint64(size))}
	for len(blocks) > 0 && c.err == nil {
		b := &cursor{f: o.file, rest: blocks[0]}
		blocks = blocks[1:]
		for len(b.rest) >= 8 && count > 0 && b.err == nil {
			count--
			m := message{kind: b.u16()}
			n := uint64(b.u16())
			m.shared = b.u8()&flagShared != 0
			b.skip(3)
			m.body = b.bytes(n)
			blocks = o.add(b, m, blocks)
		}
		c.fail(b.err)
	}
}

// header2 reads a header of version 2: signatures, checksums, and messages of one byte less.
func (o *Object) header2(c *cursor) {
	c.signed("OHDR")
	c.version("an object header", 2)
	flags := c.u8()
	if flags&0x20 != 0 {
		c.skip(16)
	}
	if flags&0x10 != 0 {
		c.skip(4)
	}
	blocks := [][]byte{c.bytes(c.uint(1 << (flags & 3)))}
	prefix := 4 // of a message
	if flags&0x04 != 0 {
		prefix = 6
	}
	for first := true; len(blocks) > 0 && c.err == nil; first = false {
		b := &cursor{f: o.file, rest: blocks[0]}
		blocks = blocks[1:]
		if !first {
			b.signed("OCHK")
			b.rest = b.rest[:max(0, len(b.rest)-4)]
		}
		for len(b.rest) >= prefix && b.err == nil {
			m := message{kind: uint16(b.u8())}
			n := uint64(b.u16())
			m.shared = b.u8()&flagShared != 0
			b.skip(prefix - 4)
			m.body = b.bytes(n)
			blocks = o.add(b, m, blocks)
		}
		c.fail(b.err)
	}
}

// add notes a message, and the block that a continuation stands for.
func (o *Object) add(c *cursor, m message, blocks [][]byte) [][]byte {
	if m.kind != messageContinuation {
		o.messages = append(o.messages, m)
		return blocks
	}
	at := &cursor{f: o.file, rest: m.body}
	address, size := at.address(), at.size()
	c.fail(at.err)
	block, err := o.file.section(address, size)
	c.fail(err)
	return append(blocks, block)
}

// message returns a cursor over the first message of a kind, or nil.
func (o *Object) message(kind uint16) (*cursor, error) {
	for _, m := range o.messages {
		if m.kind != kind {
			continue
		}
		if m.shared {
			return nil, fmt.Errorf("hdf5: %s: %w", o.Path, errShared)
		}
		return &cursor{f: o.file, rest: m.body}, nil
	}
	return nil, nil
}

var errShared = errors.New("its type is a named one kept elsewhere in the file, which is not supported")
