package tensorflow

import (
	"errors"
	"fmt"

	"lathe/internal/container/sstable"
	"lathe/internal/container/wire"
	"lathe/internal/types"
)

// A bundle is a checkpoint (tensor_bundle.proto): PREFIX.index is a sorted table of tensors by name, PREFIX.data-SSSSS-of-NNNNN their bytes.
type bundle struct {
	entries map[string]bundleEntry
	shards  [][]byte // mapped when they are needed
	open    func(shard, shards int) ([]byte, error)
}

// A bundleEntry is a BundleEntryProto.
type bundleEntry struct {
	typ          dataType
	shape        shape
	shard        int
	offset, size uint64
	sliced       bool
}

const maxShards = 1 << 12

// readBundle reads the index of a checkpoint. open gives a file of its data.
func readBundle(index []byte, open func(shard, shards int) ([]byte, error)) (*bundle, error) {
	list, err := sstable.Read(index)
	if err != nil {
		return nil, err
	}
	b := &bundle{entries: map[string]bundleEntry{}, open: open}
	for _, e := range list {
		if e.Key == "" {
			n, err := shardsOf(e.Value)
			if err != nil {
				return nil, err
			}
			b.shards = make([][]byte, n)
			continue
		}
		x, err := readEntry(e.Value)
		if err != nil {
			return nil, fmt.Errorf("checkpoint: %q: %w", e.Key, err)
		}
		b.entries[e.Key] = x
	}
	if len(b.shards) == 0 {
		return nil, errors.New("checkpoint: the index has no header: damaged")
	}
	return b, nil
}

// shardsOf reads the number of files from a BundleHeaderProto.
func shardsOf(msg []byte) (n int, err error) {
	n = 1
	err = wire.Each(msg, func(x wire.Field) error {
		switch x.Number {
		case 1:
			n = int(min(x.Bits, maxShards+1))
		case 2:
			if x.Bits != 0 {
				return errors.New("checkpoint: its bytes are of a big-endian machine, which is not supported")
			}
		}
		return nil
	})
	if err == nil && (n < 1 || n > maxShards) {
		err = fmt.Errorf("checkpoint: %d files", n)
	}
	return n, err
}

func readEntry(msg []byte) (e bundleEntry, err error) {
	e.shape.known = true
	err = wire.Each(msg, func(x wire.Field) (err error) {
		switch x.Number {
		case 1:
			e.typ = dataType(x.Bits)
		case 2:
			e.shape, err = readShape(x.Data)
		case 3:
			e.shard = int(min(x.Bits, maxShards))
		case 4:
			e.offset = x.Bits
		case 5:
			e.size = x.Bits
		case 7:
			e.sliced = true
		}
		return err
	})
	return e, err
}

// tensor is the one of a name, a view of its file.
func (b *bundle) tensor(name string) (*constant, error) {
	e, ok := b.entries[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("checkpoint: there is no %.200q", name)
	case e.sliced:
		return nil, fmt.Errorf("checkpoint: %.200q is kept in slices, which is not supported", name)
	case e.shard >= len(b.shards):
		return nil, fmt.Errorf("checkpoint: %.200q is in file %d of %d", name, e.shard, len(b.shards))
	}
	c := &constant{typ: e.typ}
	if c.dtype, c.err = e.typ.dtype(); c.err != nil {
		return c, nil // its use says so
	}
	var err error
	if c.shape, err = extents(e.shape); err != nil {
		return nil, fmt.Errorf("checkpoint: %.200q: %w", name, err)
	}
	if b.shards[e.shard] == nil {
		if b.shards[e.shard], err = b.open(e.shard, len(b.shards)); err != nil {
			return nil, err
		}
	}
	data := b.shards[e.shard]
	if n := uint64(len(data)); e.offset > n || e.size > n-e.offset || e.size != uint64(types.Count(c.shape)*c.dtype.Size()) {
		return nil, fmt.Errorf("checkpoint: %.200q: %d bytes at %d of a file of %d do not hold %s", name, e.size, e.offset, n, types.Of(c.dtype, c.shape...))
	}
	c.content = data[e.offset : e.offset+e.size : e.offset+e.size]
	return c, nil
}
