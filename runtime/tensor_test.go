package runtime

import (
	"math"
	"slices"
	"testing"
)

func TestNewTensor(t *testing.T) {
	x, err := NewTensor([]int16{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if x.DType != "int16" || !slices.Equal(x.Data, []byte{1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0}) {
		t.Errorf("%+v", x)
	}
	back, err := Values[int16](x)
	if err != nil || !slices.Equal(back, []int16{1, 2, 3, 4, 5, 6}) {
		t.Errorf("%v, %v", back, err)
	}
	_, err = NewTensor([]float32{1}, 2)
	wantError(t, err, "1 value", "[2]")
	_, err = NewTensor([]float32{}, 0, -3)
	wantError(t, err, "-3")
	if e, err := NewTensor([]float32{}, 3, 0); err != nil || len(e.Data) != 0 {
		t.Errorf("empty tensor: %v, %v", e, err)
	}
}

func TestValues(t *testing.T) {
	x := Tensor{"float32", []int{2}, []byte{0, 0, 128, 63, 0, 0, 0, 192}}
	v, err := x.Float32s()
	if err != nil || !slices.Equal(v, []float32{1, -2}) {
		t.Errorf("%v, %v", v, err)
	}
	unaligned := append([]byte{9}, x.Data...)[1:]
	if v, err := (Tensor{"float32", []int{2}, unaligned}).Float32s(); err != nil || !slices.Equal(v, []float32{1, -2}) {
		t.Errorf("unaligned: %v, %v", v, err)
	}
	_, err = x.Int64s()
	wantError(t, err, "float32, not int64")
	_, err = Tensor{"float32", []int{1}, x.Data[:3]}.Float32s()
	wantError(t, err, "3 bytes")
	_, err = Tensor{"bool", []int{2}, []byte{1, 2}}.Bools()
	wantError(t, err, "byte 2")
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		dtype string
		data  []byte
		want  []float64
	}{
		{"int8", []byte{255, 3}, []float64{-1, 3}},
		{"uint8", []byte{255, 3}, []float64{255, 3}},
		{"bool", []byte{1, 0}, []float64{1, 0}},
		{"int64", []byte{254, 255, 255, 255, 255, 255, 255, 255}, []float64{-2}},
		{"float16", []byte{0, 0x3c, 0xff, 0x7b, 1, 0, 0, 0xfc, 0, 0xc0}, []float64{1, 65504, math.Ldexp(1, -24), math.Inf(-1), -2}},
		{"float8_e4m3fn", []byte{0x38, 0x7e, 0x01, 0xb8}, []float64{1, 448, math.Ldexp(1, -9), -1}},
		{"float8_e4m3fnuz", []byte{0x40, 0x7f, 0x01}, []float64{1, 240, math.Ldexp(1, -10)}},
		{"float8_e5m2", []byte{0x3c, 0x7b, 0x01, 0x7c}, []float64{1, 57344, math.Ldexp(1, -16), math.Inf(1)}},
		{"float8_e5m2fnuz", []byte{0x40, 0x7f, 0x01}, []float64{1, 57344, math.Ldexp(1, -17)}},
	} {
		got, err := Tensor{DType: c.dtype, Data: c.data}.Numbers()
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.dtype, got, err, c.want)
		}
	}
	for dtype, data := range map[string][]byte{
		"float16": {1, 0x7c}, "float8_e4m3fn": {0x7f, 0xff}, "float8_e4m3fnuz": {0x80}, "float8_e5m2": {0x7d}, "float8_e5m2fnuz": {0x80},
	} {
		got, err := Tensor{DType: dtype, Data: data}.Numbers()
		if err != nil || !slices.ContainsFunc(got, math.IsNaN) {
			t.Errorf("%s: %v, %v; want NaN", dtype, got, err)
		}
	}
	for dtype, want := range map[string][]float64{"int4": {-8, 7, -1}, "uint4": {8, 7, 15}} {
		got, err := Tensor{DType: dtype, Shape: []int{3}, Data: []byte{0x78, 0x0f}}.Numbers()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", dtype, got, err, want)
		}
		if _, err := (Tensor{DType: dtype, Shape: []int{5}, Data: []byte{0x78, 0x0f}}).Numbers(); err == nil {
			t.Errorf("%s: two bytes are five numbers", dtype)
		}
	}
	_, err := Tensor{DType: "string"}.Numbers()
	wantError(t, err, `"string"`)
}

// TestBfloat16 compares all codes with the upper half of a float32.
func TestBfloat16(t *testing.T) {
	var data []byte
	for code := range 1 << 16 {
		data = append(data, byte(code), byte(code>>8))
	}
	got, err := Tensor{DType: "bfloat16", Data: data}.Numbers()
	if err != nil {
		t.Fatal(err)
	}
	for code, v := range got {
		want := float64(math.Float32frombits(uint32(code) << 16))
		if v != want && !(math.IsNaN(v) && math.IsNaN(want)) {
			t.Fatalf("bfloat16 %#04x is %v, want %v", code, v, want)
		}
	}
}
