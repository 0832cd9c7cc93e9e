package hdf5

import (
	"bytes"
	"fmt"
	"strings"
)

// A link is a member of a group.
type link struct {
	name   string
	target uint64 // undefined: a soft or external link
}

// Names lists the members of a group, in the order of the file.
func (o *Object) Names() ([]string, error) {
	if err := o.list(); err != nil {
		return nil, err
	}
	names := make([]string, len(o.links))
	for i, l := range o.links {
		names[i] = l.name
	}
	return names, nil
}

// Find returns the object at a path of names from o on, or nil where there is none.
func (o *Object) Find(path string) (*Object, error) {
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || name == "." {
			continue
		}
		next, err := o.member(name)
		if next == nil || err != nil {
			return nil, err
		}
		o = next
	}
	return o, nil
}

func (o *Object) member(name string) (*Object, error) {
	if err := o.list(); err != nil {
		return nil, err
	}
	for _, l := range o.links {
		if l.name != name {
			continue
		}
		path := strings.TrimSuffix(o.Path, "/") + "/" + name
		if l.target == undefined {
			return nil, fmt.Errorf("hdf5: %s: soft and external links are not supported", path)
		}
		return o.file.object(l.target, path)
	}
	return nil, nil
}

// list finds the members of a group, which an array does not have.
func (o *Object) list() error {
	if o.listed {
		return nil
	}
	table, err := o.message(messageSymbolTable)
	if err != nil {
		return err
	}
	var links []link
	if table != nil {
		links = o.file.symbolTable(table)
	} else {
		if table, err = o.message(messageLinkInfo); err != nil || table == nil {
			return err
		}
		if dense(table, 8) {
			return fmt.Errorf("hdf5: %s: a group with dense links is not supported (write it with libver='earliest' and without track_order)", o.Path)
		}
		for _, m := range o.messages {
			if m.kind == messageLink && table.err == nil {
				c := &cursor{f: o.file, rest: m.body}
				links = append(links, c.link())
				table.fail(c.err)
			}
		}
	}
	if table.err != nil {
		return fmt.Errorf("hdf5: %s: members of the group: %w", o.Path, table.err)
	}
	o.links, o.listed = links, true
	return nil
}

// dense reports whether a message of link or attribute information says that they are kept in a heap. Flag 1 precedes
// the heap's address with a number of some bytes.
func dense(c *cursor, number int) bool {
	c.version("link or attribute information", 0)
	if c.u8()&1 != 0 {
		c.skip(number)
	}
	return c.address() != undefined && c.err == nil
}

// link reads a link message.
func (c *cursor) link() link {
	c.version("a link", 1)
	flags, kind := c.u8(), uint8(0)
	if flags&8 != 0 {
		kind = c.u8()
	}
	if flags&4 != 0 {
		c.skip(8)
	}
	if flags&16 != 0 {
		c.skip(1)
	}
	l := link{name: string(c.bytes(c.uint(1 << (flags & 3)))), target: undefined}
	if kind == 0 {
		l.target = c.address()
	}
	return l
}

// symbolTable lists the members of a group of the first generation: a B-tree of nodes with entries, whose names are in a heap.
// Errors are left in the message's cursor.
func (f *File) symbolTable(message *cursor) []link {
	tree, heapAt := message.address(), message.address()
	if message.err != nil {
		return nil
	}
	c := f.at(heapAt)
	c.signed("HEAP")
	c.skip(4)
	size := c.size()
	c.skip(f.length)
	address := c.address()
	message.fail(c.err)
	names, err := f.section(address, size)
	message.fail(err)
	if message.err != nil {
		return nil
	}
	var links []link
	message.fail(f.tree(tree, treeOfGroup, -1, f.length, func(_ []byte, child uint64) error {
		c := f.at(child)
		c.signed("SNOD")
		c.skip(2)
		for n := c.u16(); n > 0 && c.err == nil; n-- {
			at, target, kind := c.uint(f.offset), c.address(), c.u32()
			c.skip(4 + 16)
			if kind == 2 {
				target = undefined
			}
			if c.err != nil || at >= uint64(len(names)) {
				c.fail(fmt.Errorf("a name at %d in a heap of %d bytes", at, len(names)))
				break
			}
			name, _, ok := bytes.Cut(names[at:], []byte{0})
			f.parse -= len(name)
			if !ok || f.parse < 0 {
				c.fail(fmt.Errorf("a name at %d does not end, or names are repeated", at))
				break
			}
			links = append(links, link{string(name), target})
		}
		return c.err
	}))
	return links
}

// Kinds of B-trees of version 1.
const (
	treeOfGroup  = 0
	treeOfChunks = 1
)

// tree visits the leaves of a B-tree: the key in front of each child of a node of level 0. Levels fall by one, so that no tree
// is without end; -1 takes the root's as it is.
func (f *File) tree(address uint64, kind uint8, level, key int, visit func(key []byte, child uint64) error) error {
	c := f.at(address)
	c.signed("TREE")
	if got := c.u8(); c.err == nil && got != kind {
		c.fail(fmt.Errorf("a tree of kind %d where %d is expected", got, kind))
	}
	if got := int(c.u8()); level >= 0 && got != level {
		c.fail(fmt.Errorf("a node of level %d where %d is expected", got, level))
	} else {
		level = got
	}
	n := c.u16()
	c.skip(2 * f.offset)
	for ; n > 0 && c.err == nil; n-- {
		k := c.bytes(uint64(key))
		child := c.address()
		if c.err != nil {
			break
		}
		if level == 0 {
			c.fail(visit(k, child))
		} else {
			c.fail(f.tree(child, kind, level-1, key, visit))
		}
	}
	return c.err
}
