package hdf5

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// FuzzRead walks whole files: no panic, memory within what the file's size allows, and an end.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.h5"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		walk(data)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		if used, limit := after.TotalAlloc-before.TotalAlloc, uint64(8*(unpackPerByte*len(data)+unpackBase)); used > limit {
			t.Errorf("%d bytes take %d bytes of memory", len(data), used)
		}
		if limit := 5*time.Second + time.Duration(len(data))*10*time.Microsecond; took > limit {
			t.Errorf("%d bytes take %v", len(data), took)
		}
	})
}
