package executor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func mapping(t *testing.T, data []byte) (path string, b []byte) {
	path = filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err = unix.Mmap(int(f.Fd()), 0, len(data), unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return path, b
}

func TestCopyMapped(t *testing.T) {
	data := bytes.Repeat([]byte("weights "), 700_000) // more than two huge pages
	path, from := mapping(t, data)
	for _, at := range []int{0, 1, 4095, 4096, len(data) - 1, len(data)} {
		to := make([]byte, len(data)-at)
		if err := copyMapped(to, from[at:]); err != nil || !bytes.Equal(to, data[at:]) {
			t.Errorf("from %d on: %v, equal: %v", at, err, bytes.Equal(to, data[at:]))
		}
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if err := copyMapped(make([]byte, len(data)), from); err == nil || !strings.Contains(err.Error(), "shortened") {
		t.Errorf("of a file that was shortened: %v", err)
	}
}

func TestHugeMemory(t *testing.T) {
	for _, size := range []int{1, 4096, hugePage - 1, hugePage, hugePage + 1} {
		b, err := hugeMemory(size)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) < size || b[0] != 0 || b[size-1] != 0 {
			t.Errorf("%d bytes: %d, not zero", size, len(b))
		}
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	}
}
