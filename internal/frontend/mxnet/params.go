package mxnet

import (
	"errors"
	"fmt"
	"strings"

	"lathe/internal/container/cursor"
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

// readParams reads the arrays of a file by name, as views of it. Names lose what says whether they are trained, arg: or aux:.
func readParams(data []byte) (map[string]*tensor.Tensor, error) {
	c := &cursor.Cursor{Rest: data}
	if magic := c.U64(); c.Err == nil && magic != magicFile {
		return nil, errors.New("it does not begin as a .params file of MXNet does")
	}
	c.U64()
	n := c.U64()
	if c.Err == nil && n > uint64(len(data))/12 {
		return nil, fmt.Errorf("%d arrays in %d bytes: damaged", n, len(data))
	}
	var list []*tensor.Tensor
	for i := uint64(0); i < n && c.Err == nil; i++ {
		t, err := arrayOf(c)
		if err != nil {
			return nil, fmt.Errorf("array %d: %w", i, err)
		}
		list = append(list, t)
	}
	if names := c.U64(); c.Err == nil && names != n {
		return nil, fmt.Errorf("%d names for %d arrays", names, n)
	}
	arrays := map[string]*tensor.Tensor{}
	for i := uint64(0); i < n && c.Err == nil; i++ {
		name := string(c.Bytes(c.U64()))
		arrays[strings.TrimPrefix(strings.TrimPrefix(name, "arg:"), "aux:")] = list[i]
	}
	return arrays, c.Err
}

// arrayOf reads one array: of the oldest form, extents have 32 bits and their number is in place of the magic number.
func arrayOf(c *cursor.Cursor) (*tensor.Tensor, error) {
	magic := c.U32()
	rank, wide := magic, false
	switch magic {
	case magicV2, magicV3:
		if storage := c.U32(); c.Err == nil && storage != 0 {
			return nil, errors.New("sparse arrays are not supported")
		}
		fallthrough
	case magicV1:
		rank, wide = c.U32(), true
	}
	if c.Err == nil && rank > maxRank {
		return nil, fmt.Errorf("%d dimensions", rank)
	}
	t := types.Tensor{}
	for range rank {
		d := uint64(0)
		if wide {
			d = c.U64()
		} else {
			d = uint64(c.U32())
		}
		if d > types.MaxElements {
			return nil, fmt.Errorf("an extent of %d", d)
		}
		t.Shape = append(t.Shape, int(d))
	}
	c.Bytes(8) // device
	kind := c.U32()
	if c.Err != nil {
		return nil, c.Err
	}
	if int64(kind) >= int64(len(dtypes)) {
		return nil, fmt.Errorf("element type %d is not supported", kind)
	}
	t.DType = dtypes[kind]
	if err := t.Check(); err != nil {
		return nil, err
	}
	data := c.Bytes(uint64(t.Bytes()))
	if c.Err != nil {
		return nil, c.Err
	}
	return tensor.Wrap(t.DType, t.Shape, data)
}
