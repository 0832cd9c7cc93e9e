package evaluate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Records are there again for the same key, without what a crash left of the last, and are dropped for another key.
func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.bin")
	open := func(key string) *records {
		t.Helper()
		r, err := openRecords(path, key, 2)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.close() })
		return r
	}
	r := open("a")
	r.add(5*time.Millisecond, []float32{1, 2})
	r.add(unreadable, nil)
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	r.add(7, []float32{3, 4})
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	r.close()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, st.Size()-3); err != nil {
		t.Fatal(err)
	}
	r = open("a")
	if r.done != 2 {
		t.Fatalf("%d records are left", r.done)
	}
	r.add(9, []float32{5, 6})
	if err := r.flush(); err != nil {
		t.Fatal(err)
	}
	all, err := r.all(3)
	if err != nil {
		t.Fatal(err)
	}
	if all[0].took != 5*time.Millisecond || !slices.Equal(all[0].scores, []float32{1, 2}) || all[1].scores != nil || !slices.Equal(all[2].scores, []float32{5, 6}) {
		t.Errorf("%+v", all)
	}
	r.close()
	if r := open("b"); r.done != 0 {
		t.Errorf("another key has %d records", r.done)
	}
}

// Whatever a file holds, it is taken for a whole number of records or for none.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"format":1,"key":"k","classes":2}` + "\n0123456789abcdef0123456789abcde"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "v.bin")
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := openRecords(path, "k", 2)
		if err != nil {
			t.Fatal(err)
		}
		defer r.close()
		if _, err := r.all(r.done); err != nil {
			t.Error(err)
		}
		st, err := os.Stat(path)
		if err != nil || st.Size() != r.start+int64(r.done*r.head.size()) {
			t.Errorf("%d records in %d bytes, %v", r.done, st.Size(), err)
		}
	})
}
