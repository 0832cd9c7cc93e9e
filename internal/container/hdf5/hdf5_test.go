package hdf5

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The files in testdata are h5py's: testdata/make.py.
func open(t *testing.T, name string) *Object {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	root, err := f.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// find returns the object at a path, which must exist.
func find(t *testing.T, o *Object, path string) *Object {
	t.Helper()
	found, err := o.Find(path)
	if err != nil || found == nil {
		t.Fatalf("%s: %v %v", path, found, err)
	}
	return found
}

// numbers are the elements of the array at a path.
func numbers(t *testing.T, o *Object, path string) (values []float64, dims []int) {
	t.Helper()
	a, err := find(t, o, path).Array()
	if err != nil || a == nil {
		t.Fatalf("%s: %v %v", path, a, err)
	}
	data, err := a.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if len(data) != a.Len()*a.Type.Size {
		t.Fatalf("%s: %d bytes for %v", path, len(data), a.Dims)
	}
	for e := range slices.Chunk(data, a.Type.Size) {
		values = append(values, number(t, a.Type, e))
	}
	return values, a.Dims
}

func number(t *testing.T, kind Type, e []byte) float64 {
	var wide [8]byte
	copy(wide[:], e)
	bits := binary.LittleEndian.Uint64(wide[:])
	shift := 64 - 8*kind.Size
	switch {
	case kind.Kind == Float && kind.Size == 8:
		return math.Float64frombits(bits)
	case kind.Kind == Float && kind.Size == 4:
		return float64(math.Float32frombits(uint32(bits)))
	case kind.Kind == Float: // halves of small integers are normal numbers of 16 bits, or zero
		if bits&0x7fff == 0 {
			return 0
		}
		v := math.Ldexp(1+float64(bits&0x3ff)/1024, int(bits>>10&31)-15)
		return v * float64(1-2*int(bits>>15))
	case kind.Kind == Int:
		return float64(int64(bits<<shift) >> shift)
	case kind.Kind == Uint || kind.Kind == Bool:
		return float64(bits)
	}
	t.Fatalf("no number: %v", kind)
	return 0
}

// ramp is what make.py writes: -5, -4 and so on, halved in arrays of floats.
func ramp(n int, scale float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i-5) * scale
	}
	return values
}

func TestArrays(t *testing.T) {
	for _, c := range []struct {
		file, path string
		dims       []int
		want       []float64
	}{
		{"old.h5", "plain/f4", []int{3, 5}, ramp(15, 0.5)},
		{"old.h5", "/plain//f8", []int{3, 5}, ramp(15, 0.5)},
		{"old.h5", "plain/f2", []int{3, 5}, ramp(15, 0.5)},
		{"old.h5", "plain/i1", []int{3, 5}, ramp(15, 1)},
		{"old.h5", "plain/i2", []int{3, 5}, ramp(15, 1)},
		{"old.h5", "plain/i4", []int{3, 5}, ramp(15, 1)},
		{"old.h5", "plain/i8", []int{3, 5}, ramp(15, 1)},
		{"old.h5", "plain/F4", []int{3, 5}, ramp(15, 0.5)},
		{"old.h5", "plain/I2", []int{3, 5}, ramp(15, 1)},
		{"old.h5", "plain/u1", []int{3, 5}, ramp(20, 1)[5:]},
		{"old.h5", "plain/bool", []int{3}, []float64{1, 0, 1}},
		{"old.h5", "plain/scalar", nil, []float64{-2.5}},
		{"old.h5", "plain/empty", []int{0, 4}, nil},
		{"old.h5", "plain/unwritten", []int{4, 2}, make([]float64, 8)},
		{"old.h5", "plain/filled", []int{4, 2}, slices.Repeat([]float64{1.5}, 8)},
		{"old.h5", "plain/compact", []int{3, 5}, ramp(15, 0.5)},
		{"old.h5", "chunked/gzip", []int{7, 6, 5}, ramp(210, 0.5)},
		{"old.h5", "chunked/shuffle", []int{7, 6, 5}, ramp(210, 0.5)},
		{"old.h5", "chunked/fletcher", []int{7, 6, 5}, ramp(210, 0.5)},
		{"old.h5", "chunked/sum", []int{7, 6, 5}, ramp(210, 0.5)},
		{"old.h5", "chunked/raw", []int{7, 6, 5}, ramp(210, 0.5)},
		{"old.h5", "chunked/sparse", []int{9, 4}, slices.Concat(slices.Repeat([]float64{2}, 12), ramp(12, 0.5), slices.Repeat([]float64{2}, 12))},
		{"latest.h5", "few/f4", []int{3, 5}, ramp(15, 0.5)},
		{"latest.h5", "few/F4", []int{3, 5}, ramp(15, 0.5)},
		{"latest.h5", "few/i8", []int{3, 5}, ramp(15, 1)},
		{"latest.h5", "few/compact", []int{3, 5}, ramp(15, 0.5)},
		{"latest.h5", "chunked/gzip", []int{7, 6, 5}, ramp(210, 0.5)},
		{"latest.h5", "chunked/fletcher", []int{7, 6, 5}, ramp(210, 0.5)},
		{"latest.h5", "chunked/raw", []int{7, 6, 5}, ramp(210, 0.5)},
		{"block.h5", "f4", []int{3, 5}, ramp(15, 0.5)},
	} {
		t.Run(c.file+" "+c.path, func(t *testing.T) {
			got, dims := numbers(t, open(t, c.file), c.path)
			if !slices.Equal(got, c.want) || !slices.Equal(dims, c.dims) {
				t.Errorf("%v %v, want %v %v", dims, got, c.dims, c.want)
			}
		})
	}
}

// Contiguous arrays are views of the file.
func TestView(t *testing.T) {
	root := open(t, "old.h5")
	a, err := find(t, root, "plain/f4").Array()
	if err != nil {
		t.Fatal(err)
	}
	x, err := a.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	y, err := a.Bytes()
	if err != nil || &x[0] != &y[0] {
		t.Errorf("copied (%v)", err)
	}
}

func TestTexts(t *testing.T) {
	root := open(t, "old.h5")
	for path, want := range map[string][]string{"text/fixed": {"one", "three"}, "text/variable": {"uno", "", "größe"}} {
		a, err := find(t, root, path).Array()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := a.Texts(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}
	attrs := find(t, root, "attrs")
	for name, want := range map[string][]string{"fixed": {"a", "bcd"}, "variable": {"a text"}, "list": {"w", "x", "y"}, "absent": nil} {
		got, ok, err := attrs.Texts(name)
		if err != nil || ok != (want != nil) || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v %v", name, got, ok, err)
		}
	}
	if got, _, err := find(t, open(t, "latest.h5"), "few").Texts("variable"); err != nil || !slices.Equal(got, []string{"a text"}) {
		t.Errorf("%q %v", got, err)
	}
	if _, _, err := attrs.Texts("number"); err == nil {
		t.Error("a number is a text")
	}
	if a, err := attrs.Attr("number"); err != nil || a.Type.Kind != Int || a.Len() != 1 {
		t.Errorf("%v %v", a, err)
	}
}

func TestGroups(t *testing.T) {
	root := open(t, "old.h5")
	names, err := find(t, root, "text").Names()
	if err != nil || !slices.Equal(names, []string{"fixed", "variable"}) {
		t.Errorf("%v %v", names, err)
	}
	if o, err := root.Find("plain/none"); o != nil || err != nil {
		t.Errorf("%v %v", o, err)
	}
	if o, err := root.Find("plain/f4/below"); o != nil || err != nil {
		t.Errorf("below an array: %v %v", o, err)
	}
	if a, err := find(t, root, "plain").Array(); a != nil || err != nil {
		t.Errorf("a group is an array: %v %v", a, err)
	}
	if o := find(t, root, "plain/f4"); o.Path != "/plain/f4" {
		t.Error(o.Path)
	}
}

// What is not read is refused by name.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ file, path, want string }{
		{"old.h5", "refused/lzf", "packed by filter 32000"},
		{"old.h5", "refused/compound", "compound type"},
		{"old.h5", "soft", "soft and external links"},
		{"latest.h5", "refused/array", "index of kind 3"},
		{"latest.h5", "refused/dense/3", "dense links"},
	} {
		o, err := open(t, c.file).Find(c.path)
		if err == nil {
			_, err = o.Array()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "hdf5: /") {
			t.Errorf("%s: %v", c.path, err)
		}
	}
}

// A file cut short anywhere is refused, also where only what no model needs is missing.
func TestCutShort(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "old.h5"))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := walk(data)
	if err != nil || len(whole) < 20 {
		t.Fatal(len(whole), err)
	}
	for n := 0; n < len(data); n += 37 {
		if _, err := walk(data[:n]); err == nil {
			t.Errorf("%d bytes of %d are taken for the whole file", n, len(data))
		}
	}
	if _, err := walk(data[:len(data)-1]); err == nil {
		t.Error("a missing byte is not noticed")
	}
}

// walk reads all that a file holds, and is content where something is not supported. The error is the first other one.
func walk(data []byte) (map[string]string, error) {
	f, err := Open(data)
	if err != nil {
		return nil, err
	}
	root, err := f.Root()
	if err != nil {
		return nil, err
	}
	found, seen := map[string]string{}, map[*Object]bool{}
	var first error
	note := func(err error) {
		if err != nil && first == nil && !strings.Contains(err.Error(), "not supported") {
			first = err
		}
	}
	var visit func(o *Object)
	visit = func(o *Object) {
		if seen[o] {
			return
		}
		seen[o] = true
		for _, name := range []string{"fixed", "list", "number"} {
			list, _, err := o.Texts(name)
			if name != "number" {
				note(err)
			}
			found[o.Path+"@"+name] = fmt.Sprint(list)
		}
		a, err := o.Array()
		note(err)
		if a != nil {
			data, err := a.Bytes()
			note(err)
			if err == nil {
				found[o.Path] = string(data)
			}
			if a.Type.Kind == Text {
				_, err := a.Texts()
				note(err)
			}
			return
		}
		names, err := o.Names()
		note(err)
		for _, name := range names {
			next, err := o.Find(name)
			note(err)
			if next != nil {
				visit(next)
			}
		}
	}
	visit(root)
	return found, first
}
