// Package sstable reads tables of sorted keys (LevelDB's table format), in which TensorFlow keeps the index of a checkpoint's
// tensors. Keys and values of plain blocks are views of the table.
package sstable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

const (
	magic      = 0xDB4775248B80FB57
	footerSize = 48
)

// An Entry is a key with its value.
type Entry struct {
	Key   string
	Value []byte
}

// Is reports whether data end as a table does.
func Is(data []byte) bool {
	return len(data) >= footerSize && binary.LittleEndian.Uint64(data[len(data)-8:]) == magic
}

// Read returns the entries of a table, in the order of their keys. Checksums are not compared.
func Read(data []byte) ([]Entry, error) {
	if !Is(data) {
		return nil, errors.New("sstable: no footer: it is not a table, or is cut short")
	}
	t := &table{data: data, room: 16*len(data) + 1<<16}
	footer := data[len(data)-footerSize:]
	var list []Entry
	_, _, footer, err := handle(footer) // of the index of metadata
	if err == nil {
		var index []Entry
		if index, err = t.blockAt(footer, nil); err != nil {
			err = fmt.Errorf("index: %w", err)
		}
		for i := 0; i < len(index) && err == nil; i++ {
			if list, err = t.blockAt(index[i].Value, list); err != nil {
				err = fmt.Errorf("block %d: %w", i, err)
			}
		}
	}
	if err == nil && !slices.IsSortedFunc(list, func(a, b Entry) int {
		if a.Key < b.Key {
			return -1
		}
		return 1 // keys that are equal are not in order either
	}) {
		err = errors.New("keys are not in order: damaged")
	}
	if err != nil {
		return nil, fmt.Errorf("sstable: %w", err)
	}
	return list, nil
}

var errCut = errors.New("cut short or damaged")

// handle reads the offset and the size of a block.
func handle(b []byte) (offset, size uint64, rest []byte, err error) {
	offset, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, 0, nil, errCut
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 {
		return 0, 0, nil, errCut
	}
	return offset, size, b[n+m:], nil
}

type table struct {
	data []byte
	room int // bytes that keys and entries may still take
}

// blockAt appends the entries of the block that a handle stands for.
func (t *table) blockAt(at []byte, list []Entry) ([]Entry, error) {
	offset, size, _, err := handle(at)
	if err != nil {
		return nil, err
	}
	// A byte behind the block says how it is packed, and four are its checksum.
	if end := uint64(len(t.data)); offset > end || size > end-offset || end-offset-size < 5 {
		return nil, fmt.Errorf("%d bytes at %d of a table of %d: %w", size, offset, end, errCut)
	}
	switch packed := t.data[offset+size]; packed {
	case 0:
	case 1:
		return nil, errors.New("it is packed with snappy, which is not supported; TensorFlow's own tables are plain")
	default:
		return nil, fmt.Errorf("it is packed by method %d: damaged", packed)
	}
	return t.entries(t.data[offset:offset+size], list)
}

// entries appends the entries of a block: keys share their beginning with the one before.
func (t *table) entries(block []byte, list []Entry) ([]Entry, error) {
	if len(block) < 4 {
		return nil, errCut
	}
	restarts := binary.LittleEndian.Uint32(block[len(block)-4:])
	if uint64(restarts) > uint64(len(block)-4)/4 {
		return nil, fmt.Errorf("%d restarts in %d bytes: %w", restarts, len(block), errCut)
	}
	block = block[:len(block)-4-4*int(restarts)]
	key := ""
	for len(block) > 0 {
		var sizes [3]uint64 // shared with the key before, own, of the value
		for i := range sizes {
			n := 0
			if sizes[i], n = binary.Uvarint(block); n <= 0 {
				return nil, errCut
			}
			block = block[n:]
		}
		shared, own, value := sizes[0], sizes[1], sizes[2]
		if left := uint64(len(block)); shared > uint64(len(key)) || own > left || value > left-own {
			return nil, fmt.Errorf("the entry behind %.80q: %w", key, errCut)
		}
		key = key[:shared] + string(block[:own])
		if t.room -= len(key) + 64; t.room < 0 {
			return nil, errors.New("keys repeat each other more than in any sensible table: damaged or made to harm")
		}
		list = append(list, Entry{key, block[own : own+value : own+value]})
		block = block[own+value:]
	}
	return list, nil
}
