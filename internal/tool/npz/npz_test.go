package npz

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lathe/internal/testkit/realmodels"
)

func floats(v ...float32) []byte {
	var b []byte
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

func TestRoundTrip(t *testing.T) {
	want := []Array{
		{Name: "output_0", DType: "float32", Shape: []int{1, 3}, Data: floats(1, 2, 3)},
		{Name: "scalar", DType: "int64", Shape: []int{}, Data: make([]byte, 8)},
		{Name: "vector", DType: "bool", Shape: []int{2}, Data: []byte{0, 1}},
		{Name: "empty", DType: "float16", Shape: []int{0, 4}, Data: []byte{}},
		{Name: "a/b:0", DType: "uint16", Shape: []int{1, 1, 2}, Data: []byte{1, 2, 3, 4}},
	}
	var first, second bytes.Buffer
	for _, w := range []*bytes.Buffer{&first, &second} {
		if err := Write(w, want); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same arrays give different bytes")
	}
	got, err := Read(first.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// npy returns an array with a header written by hand.
func npy(header string, data ...byte) []byte {
	b := append([]byte(magic), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
	return append(append(b, header...), data...)
}

func TestForms(t *testing.T) {
	long := append([]byte(magic), 3, 0, 60, 0, 0, 0)
	long = append(long, "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }   "...)
	for _, c := range []struct {
		name string
		file []byte
		want Array
	}{
		{"big-endian", npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", 1, 2, 3, 4),
			Array{DType: "int16", Shape: []int{2}, Data: []byte{2, 1, 4, 3}}},
		{"column-major", npy("{'descr': '|i1', 'fortran_order': True, 'shape': (2, 3), }", 0, 3, 1, 4, 2, 5),
			Array{DType: "int8", Shape: []int{2, 3}, Data: []byte{0, 1, 2, 3, 4, 5}}},
		{"column-major of rank 3", npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }", 0, 4, 2, 6, 1, 5, 3, 7),
			Array{DType: "uint8", Shape: []int{2, 2, 2}, Data: []byte{0, 1, 2, 3, 4, 5, 6, 7}}},
		{"Python 2 and other order of keys", npy(`{"shape": (2L, 1L), "fortran_order": False, "descr": "|b1"}`, 1, 0),
			Array{DType: "bool", Shape: []int{2, 1}, Data: []byte{1, 0}}},
		{"version 3", append(long, 7, 8), Array{DType: "uint8", Shape: []int{2}, Data: []byte{7, 8}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(c.file)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || !reflect.DeepEqual(got[0], c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// savez builds what numpy.savez_compressed makes of x=numpy.float64([[1, 2]]) and n=numpy.int64(3): deflated members.
func savez(t *testing.T) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range []struct {
		name, header string
		data         []byte
	}{
		{"x.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }", binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, math.Float64bits(1)), math.Float64bits(2))},
		{"n.npy", "{'descr': '<i8', 'fortran_order': False, 'shape': (), }", []byte{3, 0, 0, 0, 0, 0, 0, 0}},
	} {
		w, err := z.Create(m.name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(npy(m.header+strings.Repeat(" ", 117-len(m.header))+"\n", m.data...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDeflated(t *testing.T) {
	got, err := Read(savez(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "x" || got[0].DType != "float64" || got[1].Name != "n" || got[1].Data[0] != 3 || len(got[1].Shape) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestErrors(t *testing.T) {
	var twice bytes.Buffer
	z := zip.NewWriter(&twice)
	for range 2 {
		w, _ := z.Create("x.npy")
		w.Write(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", 1))
	}
	z.Close()
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "is empty"},
		{"text", []byte("hello"), "numpy.savez writes one"},
		{"LFS", []byte("version https://git-lfs.github.com/spec/v1\n"), "git lfs pull"},
		{"pickle", []byte("\x80\x04\x95"), "pickle"},
		{"cut zip", savez(t)[:100], "broken .npz archive"},
		{"twice", twice.Bytes(), `"x" occurs twice`},
		{"too large", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }", 1), "does not fit"},
		{"wraps", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"), "does not fit"},
		{"huge number", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), "shape"},
		{"too short", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 1, 2, 3), "does not fit the 3 bytes"},
		{"too long", npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }", 1, 2, 3), "does not fit the 3 bytes"},
		{"object", npy("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"), "Python objects"},
		{"complex", npy("{'descr': '<c8', 'fortran_order': False, 'shape': (0,), }"), "imaginary"},
		{"structured", npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,), }"), "structured"},
		{"no shape", npy("{'descr': '<f4', 'fortran_order': False}"), "lacks"},
		{"version", []byte(magic + "\x09\x00\x00\x00"), "version 9"},
		{"long header", []byte(magic + "\x02\x00\xff\xff\xff\xff"), "header of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(c.file)
			if err == nil {
				t.Fatalf("no error, got %+v", got)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestWriteErrors(t *testing.T) {
	for _, c := range []struct {
		arrays []Array
		want   string
	}{
		{[]Array{{Name: "b", DType: "bfloat16", Shape: []int{1}, Data: make([]byte, 2)}}, "numpy has no element type bfloat16"},
		{[]Array{{Name: "b", DType: "int8", Shape: []int{2}, Data: make([]byte, 1)}}, "the data has 1"},
		{[]Array{{Name: "b", DType: "int8", Data: make([]byte, 1)}, {Name: "b", DType: "int8", Data: make([]byte, 1)}}, "twice"},
	} {
		if err := Write(new(bytes.Buffer), c.arrays); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// Files that numpy wrote, with inputs and outputs of real models.
func TestConformanceNumpyFiles(t *testing.T) {
	models := realmodels.Folder(t)
	files, err := filepath.Glob(filepath.Join(models, "reference_outputs", "*.npz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no reference_outputs/*.npz in LATHE_MODELS=%s", models)
	}
	for _, f := range files {
		arrays, err := ReadFile(f)
		if err != nil {
			t.Error(err)
		}
		if len(arrays) == 0 {
			t.Errorf("%s: no arrays", f)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2), }", 1, 2, 3, 4, 5, 6, 7, 8))
	b, _ := base64.StdEncoding.DecodeString("UEsFBgAAAAAAAAAAAAAAAAAAAAAAAA==") // an empty archive
	f.Add(b)
	var w bytes.Buffer
	if err := Write(&w, []Array{{Name: "x", DType: "float32", Shape: []int{1}, Data: floats(1)}}); err != nil {
		f.Fatal(err)
	}
	f.Add(w.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		arrays, err := Read(b)
		if err != nil {
			return
		}
		for _, a := range arrays {
			if a.Data == nil {
				t.Errorf("array %q has no data", a.Name)
			}
		}
		var w bytes.Buffer
		if err := Write(&w, arrays); err != nil {
			t.Errorf("cannot write what was read: %v", err)
		}
	})
}
