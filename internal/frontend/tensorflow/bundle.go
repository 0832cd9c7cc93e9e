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
	shard        uint64
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
func shardsOf(msg []byte) (int, error) {
	count, endian := uint64(1), 0
	if err := wire.Read(msg, wire.Fields{1: wire.Int(&count), 2: wire.Int(&endian)}); err != nil {
		return 0, err
	}
	if endian != 0 {
		return 0, errors.New("checkpoint: its bytes are of a big-endian machine, which is not supported")
	}
	if count < 1 || count > maxShards {
		return 0, fmt.Errorf("checkpoint: %d files", count)
	}
	return int(count), nil
}

func readEntry(msg []byte) (e bundleEntry, err error) {
	e.shape.known = true
	err = wire.Read(msg, wire.Fields{
		1: wire.Int(&e.typ), 2: wire.With(e.shape.read), 3: wire.Int(&e.shard), 4: wire.Int(&e.offset), 5: wire.Int(&e.size),
		7: func(wire.Field) error { e.sliced = true; return nil },
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
	case e.shard >= uint64(len(b.shards)):
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
		if b.shards[e.shard], err = b.open(int(e.shard), len(b.shards)); err != nil {
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
