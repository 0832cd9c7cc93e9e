package onnx

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestOfficialTensors reads tensors that ONNX's own package wrote, in a typed field and in raw_data.
func TestOfficialTensors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "reader", "tensors", "*.typed.pb"))
	if err != nil || len(files) != 15 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		typed := readTensorFile(t, path)
		name := strings.TrimSuffix(filepath.Base(path), ".typed.pb")
		if typed.Name != name || typed.DType.String() != name || !slices.Equal(typed.Dims, []int{2}) {
			t.Errorf("%s: %q %s%v", path, typed.Name, typed.DType, typed.Dims)
		}
		if name == "string" {
			if string(typed.Strings[0]) != "a" || string(typed.Strings[1]) != "é" || len(typed.Strings) != 2 {
				t.Errorf("strings %q", typed.Strings)
			}
			continue
		}
		raw := readTensorFile(t, strings.Replace(path, ".typed.", ".raw.", 1))
		if !bytes.Equal(typed.Data, raw.Data) || len(raw.Data) != 2*typed.DType.Bits()/8 {
			t.Errorf("%s: % x from the typed field, % x raw", path, typed.Data, raw.Data)
		}
	}
}

func readTensorFile(t *testing.T, path string) *Tensor {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tensor, err := ReadTensor(data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return tensor
}

func TestTensorForms(t *testing.T) {
	for _, c := range []struct {
		name string
		data pb
		want []byte
	}{
		{"packed dims", pb{}.packed(1, 2, 1).int(2, int64(Uint8)).sub(9, pb{7, 8}), []byte{7, 8}},
		{"scalar", wireTensor("", Int32, nil, pb{}.int(5, -2)), []byte{0xfe, 0xff, 0xff, 0xff}},
		{"no elements", wireTensor("", Float, []int64{0, 3}), nil},
		{"three nibbles", wireTensor("", Int4, []int64{3}, pb{}.packed(5, 0x21, 0x03)), []byte{0x21, 0x03}},
		{"five quarter bytes", wireTensor("", Uint2, []int64{5}, pb{}.sub(9, pb{0xe4, 1})), []byte{0xe4, 1}},
		{"float8", wireTensor("", Float8E4M3FN, []int64{2}, pb{}.packed(5, 0x38, 0xb8)), []byte{0x38, 0xb8}},
		{"bfloat16", wireTensor("", BFloat16, []int64{1}, pb{}.int(5, 0x3f80)), []byte{0x80, 0x3f}},
		{"runs and single values", wireTensor("", Float, []int64{3}, pb{}.float(4, 1).sub(4, pb{0, 0, 0, 0x40, 0, 0, 0x40, 0x40})),
			[]byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40, 0, 0, 0x40, 0x40}},
		{"int64", wireTensor("", Int64, []int64{2}, pb{}.packed(7, -1, 1)), []byte{255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0, 0, 0, 0, 0, 0}},
	} {
		got, err := ReadTensor(c.data)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !bytes.Equal(got.Data, c.want) {
			t.Errorf("%s: % x, want % x", c.name, got.Data, c.want)
		}
	}
}

// TestTensorInPlace pins that raw elements and packed floats are not copied.
func TestTensorInPlace(t *testing.T) {
	for _, field := range []int{9, 4} {
		data := wireTensor("t", Float, []int64{1000}, pb{}.sub(4, nil)[:0])
		if field == 9 {
			data = append(data, wireRaw(4000)...)
		} else {
			data = data.sub(4, make(pb, 4000))
		}
		got, err := ReadTensor(data)
		if err != nil {
			t.Fatal(err)
		}
		if &got.Data[3999] != &data[len(data)-1] {
			t.Errorf("field %d is copied", field)
		}
	}
}

func TestTensorErrors(t *testing.T) {
	sequence := pb{}.str(1, "seq").int(2, 1)
	for _, c := range []struct {
		name string
		data pb
		want string
	}{
		{"empty", nil, "empty"},
		{"no type", pb{}.int(1, 1).str(8, "t"), "data_type 0"},
		{"unknown type", wireTensor("t", 27, nil, wireRaw(4)), "data_type 27"},
		{"negative type", wireTensor("t", -1, nil, wireRaw(4)), "data_type -1"},
		{"negative dim", wireTensor("t", Float, []int64{-1}, wireRaw(4)), "negative"},
		{"product overflow", wireTensor("t", Float, []int64{1 << 32, 1 << 32}, wireRaw(4)), "too large"},
		{"overflow beside zero", wireTensor("t", Float, []int64{0, 1 << 62, 1 << 62}), "too large"},
		{"overflow in bits", wireTensor("t", Double, []int64{1 << 58}, wireRaw(4)), "too large"},
		{"raw too short", wireTensor("t", Float, []int64{2}, wireRaw(4)), "float32[2] takes 8 bytes, raw_data has 4"},
		{"raw too long", wireTensor("t", Float, nil, wireRaw(5)), "takes 4 bytes, raw_data has 5"},
		{"huge and empty", wireTensor("t", Float, []int64{1 << 40}), "takes 4398046511104 bytes"},
		{"typed too few", wireTensor("t", Int32, []int64{3}, pb{}.packed(5, 1, 2)), "takes 12 bytes"},
		{"wrong field", wireTensor("t", Float, []int64{1}, pb{}.packed(7, 1)), "are in field 7, not 4"},
		{"stored twice", wireTensor("t", Float, nil, wireRaw(4), pb{}.float(4, 1)), "more than once"},
		{"raw strings", wireTensor("t", String, nil, wireRaw(4)), "strings in raw_data"},
		{"missing strings", wireTensor("t", String, []int64{2}, pb{}.str(6, "a")), "has 1 string"},
		{"segment", wireTensor("t", Float, nil, wireRaw(4), pb{}.sub(3, nil)), "segment"},
		{"location", wireTensor("t", Float, nil, wireRaw(4), pb{}.int(14, 2)), "data_location is 2"},
		{"external", wireTensor("t", Float, nil, pb{}.int(14, 1), pb{}.sub(13, pb{}.str(1, "location").str(2, "w"))), "read from a folder"},
		{"packed floats", wireTensor("t", Float, nil, pb{}.sub(4, pb{1})), "no multiple of 4"},
		{"lying length", wireTensor("t", Float, nil).lie(9, 1<<50), "claims 1125899906842624 bytes"},
		{"dims cut", pb{}.sub(1, pb{0x80}).int(2, 1).str(8, "t"), "dims: field 1: a packed integer"},
		{"model", wireModel(wireGraph("x", "x")), "looks like an ONNX model"},
		{"LFS pointer", pb("version https://git-lfs.github.com/spec/v1\n"), "Git LFS pointer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadTensor(c.data)
			wantError(t, err, c.want)
			if errors.Is(err, ErrNotTensor) {
				t.Errorf("taken for a sequence: %v", err)
			}
		})
	}
	for name, data := range map[string]pb{
		"empty sequence":    sequence,
		"sequence":          sequence.sub(3, wireTensor("t", Float, nil, wireRaw(4))),
		"nameless sequence": pb{}.int(2, 1).sub(3, wireTensor("t", Float, nil, wireRaw(4))),
		"optional sequence": pb{}.str(1, "o").int(2, 3).sub(5, sequence),
		"empty optional":    pb{}.int(2, 1),
	} {
		if _, err := ReadTensor(data); !errors.Is(err, ErrNotTensor) {
			t.Errorf("%s: %v, want ErrNotTensor", name, err)
		}
	}
}

func TestSparseErrors(t *testing.T) {
	sparse := func(values, indices pb, dims ...int64) pb {
		return wireModel(wireGraph("", "", pb{}.sub(15, pb{}.sub(1, values).sub(2, indices).packed(3, dims...))))
	}
	values := wireTensor("s", Float, []int64{2}, wireRaw(8))
	_, err := Read(sparse(values, wireTensor("", Int64, []int64{3}, wireRaw(24)), 4), "")
	wantError(t, err, "values [2] and indices int64[3] do not fit a tensor [4]")
	_, err = Read(sparse(values, wireTensor("", Int64, []int64{2, 2}, wireRaw(32)), 4), "")
	wantError(t, err, "do not fit")
	_, err = Read(sparse(values, wireTensor("", Int64, []int64{2}, wireRaw(16)), 1<<40, 1<<40), "")
	wantError(t, err, "too large")
	if _, err := Read(sparse(values, wireTensor("", Int64, []int64{2, 1}, wireRaw(16)), 4), ""); err != nil {
		t.Error(err)
	}
}
