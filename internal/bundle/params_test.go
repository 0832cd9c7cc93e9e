package bundle

import (
	"bytes"
	"encoding/binary"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

func TestParamsRoundTrip(t *testing.T) {
	for _, params := range [][]Param{{}, sampleParams(), sampleParams()[1:2]} {
		b := mustParams(t, params)
		if len(b) != ParamsSize(params) {
			t.Errorf("%d bytes written, ParamsSize says %d", len(b), ParamsSize(params))
		}
		got, err := ParseParams(b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, params) {
			t.Errorf("got %+v\nwant %+v", got, params)
		}
	}
}

// TestParamsInPlace checks that tensors are parts of the blob, at multiples of Alignment.
func TestParamsInPlace(t *testing.T) {
	var params []Param
	for rank := range 12 {
		shape := slices.Repeat([]int{1}, rank)
		params = append(params, Param{Name: string(rune('a' + rank)), DType: "uint8", Shape: append(shape, rank+1), Data: make([]byte, rank+1)})
	}
	b := mustParams(t, params)
	got, err := ParseParams(b)
	if err != nil {
		t.Fatal(err)
	}
	start := uintptr(unsafe.Pointer(&b[0]))
	for _, p := range got {
		off := uintptr(unsafe.Pointer(&p.Data[0])) - start
		if off >= uintptr(len(b)) || off%Alignment != 0 {
			t.Errorf("%s: data at offset %d of %d", p.Name, off, len(b))
		}
		if cap(p.Data) != len(p.Data) {
			t.Errorf("%s: append would write into the mapping", p.Name)
		}
	}
}

// tvmBlob is what TVM's save_param_dict writes for {"w": float32[2]}: no padding.
func tvmBlob() []byte {
	var b []byte
	u64 := func(vs ...uint64) {
		for _, v := range vs {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	u64(0xF7E58D4F05049CB7, 0, 1, 1)
	b = append(b, 'w')
	u64(1, 0xDD5E40F096B4A13F, 0)
	b = append(b, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 32, 1, 0)
	u64(2, 8)
	return append(b, 1, 2, 3, 4, 5, 6, 7, 8)
}

func TestTVMParams(t *testing.T) {
	got, err := ParseParams(tvmBlob())
	if err != nil {
		t.Fatal(err)
	}
	want := []Param{{Name: "w", DType: "float32", Shape: []int{2}, Data: []byte{1, 2, 3, 4, 5, 6, 7, 8}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestParamsTruncated(t *testing.T) {
	b := mustParams(t, sampleParams())
	for n := range b {
		if _, err := ParseParams(b[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are accepted", n, len(b))
		}
	}
	_, err := ParseParams(append(b, 0))
	wantError(t, err, "1 byte after the last")
}

func TestParamsLies(t *testing.T) {
	// Offsets into tvmBlob.
	const names, nameLen, count, magic, rank, code, lanes, dim, size = 16, 24, 33, 41, 65, 69, 71, 73, 81
	for _, c := range []struct {
		what  string
		off   int
		bytes []byte
		want  string
	}{
		{"magic", 0, []byte{0}, "not a TVM parameter blob"},
		{"huge number of names", names, bytes.Repeat([]byte{0xff}, 8), "cannot fit"},
		{"many names", names, []byte{6}, "truncated"},
		{"huge name", nameLen, bytes.Repeat([]byte{0xff}, 8), "truncated"},
		{"long name", nameLen, []byte{0xff}, "truncated"},
		{"huge number of tensors", count, bytes.Repeat([]byte{0xff}, 8), "tensors for 1 name"},
		{"no tensors", count, []byte{0}, "0 tensors for 1 name"},
		{"tensor magic", magic, []byte{0}, "wrong magic number"},
		{"rank", rank, []byte{0xff, 0xff, 0xff, 0xff}, "4294967295 dimensions"},
		{"rank beyond the file", rank, []byte{60}, "truncated"},
		{"type", code, []byte{77}, "DLPack code 77"},
		{"bits", code + 1, []byte{31}, "31 bits"},
		{"lanes", lanes, []byte{4}, "4 lanes"},
		{"negative dim", dim, bytes.Repeat([]byte{0xff}, 8), "impossible dimension -1"},
		{"huge dim", dim, []byte{0, 0, 0, 0, 0, 0, 0, 1}, "impossible dimension"},
		{"other dim", dim, []byte{3}, "takes 12 bytes, not 8"},
		{"size", size, bytes.Repeat([]byte{0xff}, 8), "takes 8 bytes"},
	} {
		b := tvmBlob()
		copy(b[c.off:], c.bytes)
		_, err := ParseParams(b)
		t.Run(c.what, func(t *testing.T) { wantError(t, err, "mod.params", c.want) })
	}
	_, err := ParseParams([]byte("version https://git-lfs.github.com/spec/v1\n"))
	wantError(t, err, "Git LFS pointer")
}

func TestWriteParamsErrors(t *testing.T) {
	for want, params := range map[string][]Param{
		"takes 4 bytes, not 3":       {{Name: "x", DType: "float32", Shape: []int{1}, Data: []byte{1, 2, 3}}},
		`unknown element type "f32"`: {{Name: "x", DType: "f32", Shape: []int{1}, Data: []byte{1, 2, 3, 4}}},
		"occurs twice":               {{Name: "x", DType: "int8", Shape: nil, Data: []byte{1}}, {Name: "x", DType: "int8", Shape: nil, Data: []byte{1}}},
		"reserved for padding":       {{Name: "__pad.0", DType: "int8", Shape: nil, Data: []byte{1}}},
	} {
		wantError(t, WriteParams(new(bytes.Buffer), params), want)
	}
}

func TestByteSize(t *testing.T) {
	for _, c := range []struct {
		shape []int
		want  int
	}{
		{nil, 4}, {[]int{2, 3}, 24}, {[]int{1 << 40, 0, 3}, 0},
	} {
		if n, err := ByteSize("float32", c.shape); n != c.want || err != nil {
			t.Errorf("%v: %d, %v", c.shape, n, err)
		}
	}
	for _, c := range []struct{ n, want int }{{0, 0}, {1, 1}, {2, 1}, {5, 3}} { // two share a byte
		if n, err := ByteSize("int4", []int{c.n}); n != c.want || err != nil {
			t.Errorf("%d int4: %d bytes, %v", c.n, n, err)
		}
	}
	for _, shape := range [][]int{{-1}, {1 << 32, 1 << 32}, {1 << 62, 4}, {0, -5}, {1 << 45, 1 << 45, 1 << 45, 0}} {
		if n, err := ByteSize("float32", shape); err == nil {
			t.Errorf("%v: %d bytes", shape, n)
		}
	}
}

func FuzzParams(f *testing.F) {
	f.Add(tvmBlob())
	f.Add(mustParams(f, sampleParams()))
	f.Add(mustParams(f, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		params, err := ParseParams(b)
		if err != nil {
			return
		}
		again, err := ParseParams(mustParams(t, params))
		if err != nil || !reflect.DeepEqual(again, params) {
			t.Errorf("%+v is read back as %+v, %v", params, again, err)
		}
	})
}

// TestParamSizes: a constant that writes other than its header says is an error, whichever way.
func TestParamSizes(t *testing.T) {
	for _, n := range []int{7, 9} {
		p := []Param{{Name: "w", DType: "float32", Shape: []int{2}, Write: func(w io.Writer) error { _, err := w.Write(make([]byte, n)); return err }}}
		if err := WriteParams(io.Discard, p); err == nil || !strings.Contains(err.Error(), "8") {
			t.Errorf("%d bytes for 8: %v", n, err)
		}
	}
}
