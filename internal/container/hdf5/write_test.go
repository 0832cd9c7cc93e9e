package hdf5_test

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/container/hdf5"
	"lathe/internal/testkit/hdf5test"
)

// What tests write is read back.
func TestWritten(t *testing.T) {
	g := hdf5test.New()
	long := strings.Repeat("x", 100_000)
	g.Texts("config", long)
	g.At("a/b").Texts("names", "one", "", "three")
	g.Array("a/b/c/w", []int{2, 1}, []float32{1.5, -2})
	g.Array("top", nil, []float32{3})
	f, err := hdf5.Open(hdf5test.File(g))
	if err != nil {
		t.Fatal(err)
	}
	root, err := f.Root()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := root.Texts("config"); err != nil || !ok || len(got) != 1 || got[0] != long {
		t.Errorf("%v %v", ok, err)
	}
	b, err := root.Find("a/b")
	if err != nil || b == nil {
		t.Fatal(b, err)
	}
	if got, _, err := b.Texts("names"); err != nil || !slices.Equal(got, []string{"one", "", "three"}) {
		t.Errorf("%q %v", got, err)
	}
	w, err := b.Find("c/w")
	if err != nil || w == nil {
		t.Fatal(w, err)
	}
	a, err := w.Array()
	if err != nil || a == nil || a.Type.Kind != hdf5.Float || !slices.Equal(a.Dims, []int{2, 1}) {
		t.Fatal(a, err)
	}
	if data, err := a.Bytes(); err != nil || string(data) != "\x00\x00\xc0\x3f\x00\x00\x00\xc0" {
		t.Errorf("%x %v", data, err)
	}
}
