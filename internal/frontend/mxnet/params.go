package mxnet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// Numbers in front of parts of a .params file.
const (
	magicFile = 0x112
	magicV1   = 0xF993FAC8
	magicV2   = 0xF993FAC9
	magicV3   = 0xF993FACA
)

// maxRank is that of MXNet.
const maxRank = 32

// dtypes are element types by number.
var dtypes = []types.DType{types.F32, types.F64, types.F16, types.U8, types.I32, types.I8, types.I64, types.Bool}

// A cursor reads a file, little endian. The first error stays.
type cursor struct {
	rest []byte
	err  error
}

func (c *cursor) bytes(n uint64) []byte {
	if c.err == nil && n > uint64(len(c.rest)) {
		c.err = fmt.Errorf("it needs %d bytes where %d are left: cut short or damaged", n, len(c.rest))
	}
	if c.err != nil {
		return make([]byte, min(n, 8))
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) u32() uint32 { return binary.LittleEndian.Uint32(c.bytes(4)) }
func (c *cursor) u64() uint64 { return binary.LittleEndian.Uint64(c.bytes(8)) }

// readParams reads the arrays of a file by name, as views of it. Names lose what says whether they are trained, arg: or aux:.
func readParams(data []byte) (map[string]*tensor.Tensor, error) {
	c := &cursor{rest: data}
	if magic := c.u64(); c.err == nil && magic != magicFile {
		return nil, errors.New("it does not begin as a .params file of MXNet does")
	}
	c.u64()
	n := c.u64()
	if c.err == nil && n > uint64(len(data))/12 {
		return nil, fmt.Errorf("%d arrays in %d bytes: damaged", n, len(data))
	}
	var list []*tensor.Tensor
	for i := uint64(0); i < n && c.err == nil; i++ {
		t, err := c.array()
		if err != nil {
			return nil, fmt.Errorf("array %d: %w", i, err)
		}
		list = append(list, t)
	}
	if names := c.u64(); c.err == nil && names != n {
		return nil, fmt.Errorf("%d names for %d arrays", names, n)
	}
	arrays := map[string]*tensor.Tensor{}
	for i := uint64(0); i < n && c.err == nil; i++ {
		name := string(c.bytes(c.u64()))
		arrays[strings.TrimPrefix(strings.TrimPrefix(name, "arg:"), "aux:")] = list[i]
	}
	return arrays, c.err
}

// array reads one array: of the oldest form, extents have 32 bits and their number is in place of the magic number.
func (c *cursor) array() (*tensor.Tensor, error) {
	magic := c.u32()
	rank, wide := magic, false
	switch magic {
	case magicV2, magicV3:
		if storage := c.u32(); c.err == nil && storage != 0 {
			return nil, errors.New("sparse arrays are not supported")
		}
		fallthrough
	case magicV1:
		rank, wide = c.u32(), true
	}
	if c.err == nil && rank > maxRank {
		return nil, fmt.Errorf("%d dimensions", rank)
	}
	t := types.Tensor{}
	for range rank {
		d := uint64(0)
		if wide {
			d = c.u64()
		} else {
			d = uint64(c.u32())
		}
		if d > types.MaxElements {
			return nil, fmt.Errorf("an extent of %d", d)
		}
		t.Shape = append(t.Shape, int(d))
	}
	c.bytes(8) // device
	kind := c.u32()
	if c.err != nil {
		return nil, c.err
	}
	if int64(kind) >= int64(len(dtypes)) {
		return nil, fmt.Errorf("element type %d is not supported", kind)
	}
	t.DType = dtypes[kind]
	if err := t.Check(); err != nil {
		return nil, err
	}
	data := c.bytes(uint64(t.Bytes()))
	if c.err != nil {
		return nil, c.err
	}
	return tensor.Wrap(t.DType, t.Shape, data)
}
