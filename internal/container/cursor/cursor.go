// Package cursor reads little-endian numbers and bytes one after the other, for formats without a structure of their own.
package cursor

import (
	"encoding/binary"
	"fmt"
)

// A Cursor reads Rest from its beginning. The first error stays, and what is read behind it is zeros.
type Cursor struct {
	Rest []byte
	Err  error
}

// Bytes are the next n, a view.
func (c *Cursor) Bytes(n uint64) []byte {
	if c.Err == nil && n > uint64(len(c.Rest)) {
		c.Err = fmt.Errorf("it needs %d bytes where %d are left: cut short, damaged, or of another model", n, len(c.Rest))
	}
	if c.Err != nil {
		return make([]byte, min(n, 8))
	}
	b := c.Rest[:n:n]
	c.Rest = c.Rest[n:]
	return b
}

func (c *Cursor) U32() uint32 { return binary.LittleEndian.Uint32(c.Bytes(4)) }
func (c *Cursor) U64() uint64 { return binary.LittleEndian.Uint64(c.Bytes(8)) }
