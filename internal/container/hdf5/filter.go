package hdf5

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// A filter is a step in which chunks were packed.
type filter struct {
	id     uint16
	values []uint32
}

const (
	filterDeflate    = 1
	filterShuffle    = 2
	filterFletcher32 = 3
)

// filters reads the list of filters, in the order they were applied.
func (o *Object) filters() ([]filter, error) {
	c, err := o.message(messageFilters)
	if err != nil || c == nil {
		return nil, err
	}
	version := c.version("a filter pipeline", 1, 2)
	n := int(c.u8())
	if version == 1 {
		c.skip(6)
	}
	var list []filter
	for ; n > 0 && c.err == nil; n-- {
		f := filter{id: c.u16()}
		name := 0
		if version == 1 || f.id >= 256 {
			name = int(c.u16())
		}
		c.skip(2)
		values := int(c.u16())
		c.skip(name)
		for i := 0; i < values && c.err == nil; i++ {
			f.values = append(f.values, c.u32())
		}
		if version == 1 && values%2 == 1 {
			c.skip(4)
		}
		switch f.id {
		case filterDeflate, filterShuffle, filterFletcher32:
		default:
			return nil, fmt.Errorf("chunks packed by filter %d are not supported (gzip, shuffle and fletcher32 are)", f.id)
		}
		list = append(list, f)
	}
	return list, c.err
}

// undo unpacks a chunk, of size bytes in the end.
func (f filter) undo(file *File, data []byte, size int) ([]byte, error) {
	switch f.id {
	case filterDeflate:
		// What a deflated byte can become is known, so that a chunk that claims more is not waited for.
		if most := 1040*len(data) + 64; size > most {
			return nil, fmt.Errorf("deflated %d bytes cannot become %d", len(data), size)
		}
		if err := file.unpack(uint64(size)); err != nil {
			return nil, err
		}
		r, err := zlib.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		out := make([]byte, size+4) // with the checksum that may have been added before
		n, err := io.ReadFull(r, out)
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return out[:n], nil
	case filterShuffle:
		return f.unshuffle(file, data)
	}
	if len(data) < 4 {
		return nil, errors.New("cut short")
	}
	return data[:len(data)-4], nil // the checksum is not compared
}

// unshuffle turns planes, of all first bytes of elements, all second bytes and so on, into elements. Bytes that make no
// whole element are behind them.
func (f filter) unshuffle(file *File, data []byte) ([]byte, error) {
	if len(f.values) < 1 || f.values[0] < 1 || int64(f.values[0]) > int64(len(data)) {
		return nil, fmt.Errorf("shuffle of elements of %v bytes", f.values)
	}
	if err := file.unpack(uint64(len(data))); err != nil {
		return nil, err
	}
	width := int(f.values[0])
	n := len(data) / width
	out := make([]byte, len(data))
	for i := range n {
		for b := range width {
			out[i*width+b] = data[b*n+i]
		}
	}
	copy(out[n*width:], data[n*width:])
	return out, nil
}
