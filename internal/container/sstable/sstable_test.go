package sstable

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lathe/internal/testkit/realmodels"
)

// block writes entries with keys that share their beginnings, and a restart every few.
func block(entries []Entry) []byte {
	var b []byte
	var restarts []uint32
	last := ""
	for i, e := range entries {
		shared := 0
		if i%3 == 0 {
			restarts = append(restarts, uint32(len(b)))
		} else {
			for shared < min(len(last), len(e.Key)) && last[shared] == e.Key[shared] {
				shared++
			}
		}
		b = binary.AppendUvarint(b, uint64(shared))
		b = binary.AppendUvarint(b, uint64(len(e.Key)-shared))
		b = binary.AppendUvarint(b, uint64(len(e.Value)))
		b = append(append(b, e.Key[shared:]...), e.Value...)
		last = e.Key
	}
	for _, r := range append(restarts, uint32(len(restarts))) {
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	return b
}

// write makes a table of blocks with so many entries each.
func write(entries []Entry, perBlock int, packed byte) []byte {
	var data []byte
	add := func(b []byte) []byte {
		at := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(data))), uint64(len(b)))
		data = append(append(data, b...), packed, 1, 2, 3, 4)
		return at
	}
	var index []Entry
	for part := range slices.Chunk(entries, perBlock) {
		index = append(index, Entry{part[len(part)-1].Key, add(block(part))})
	}
	meta := add(block(nil))
	footer := append(meta, add(block(index))...)
	footer = append(footer, make([]byte, footerSize-8-len(footer))...)
	return binary.LittleEndian.AppendUint64(append(data, footer...), magic)
}

func example(n int) []Entry {
	var list []Entry
	for i := range n {
		list = append(list, Entry{fmt.Sprintf("layer_with_weights-%03d/kernel", i), []byte(strings.Repeat("v", i%5))})
	}
	return list
}

func equal(a, b []Entry) bool {
	return slices.EqualFunc(a, b, func(x, y Entry) bool { return x.Key == y.Key && string(x.Value) == string(y.Value) })
}

func TestRead(t *testing.T) {
	for _, perBlock := range []int{1, 4, 100} {
		want := example(23)
		got, err := Read(write(want, perBlock, 0))
		if err != nil || !equal(got, want) {
			t.Errorf("%d entries a block: %v (%v)", perBlock, got, err)
		}
	}
	if got, err := Read(write(nil, 1, 0)); err != nil || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

func TestDamage(t *testing.T) {
	good := write(example(23), 4, 0)
	twice := append(example(3), example(3)...)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":    {nil, "no footer"},
		"end gone": {good[:len(good)-1], "no footer"},
		"middle":   {append(slices.Clone(good[:60]), good[200:]...), "sstable: "},
		"snappy":   {write(example(2), 1, 1), "snappy"},
		"method":   {write(example(2), 1, 9), "method 9"},
		"order":    {write(twice, 2, 0), "not in order"},
	} {
		if got, err := Read(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v (%v)", name, got, err)
		}
	}
	for i := range good { // a byte changed anywhere: an error or entries, never a panic
		bad := slices.Clone(good)
		bad[i] ^= 0xff
		Read(bad)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(write(example(5), 2, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := Read(data)
		size := 0
		for _, e := range list {
			size += len(e.Key) + 64
		}
		if err == nil && size > 16*len(data)+1<<16 {
			t.Errorf("%d bytes become %d", len(data), size)
		}
	})
}

// TestConformanceFiles reads the indices of checkpoints under $LATHE_MODELS.
func TestConformanceFiles(t *testing.T) {
	root := realmodels.Folder(t)
	files := 0
	err := filepath.WalkDir(filepath.Join(root, "tensorflow"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".index" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		list, err := Read(data)
		if err != nil || len(list) < 2 || list[0].Key != "" {
			t.Errorf("%s: %d entries (%v)", path, len(list), err)
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Fatal(files, err)
	}
}
