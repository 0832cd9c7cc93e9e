package tensor_test

import (
	"testing"

	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestNibbles: elements of 4 bits share bytes, the first in the low bits, and keep each other when they are stored.
func TestNibbles(t *testing.T) {
	for _, c := range []struct {
		d      types.DType
		stored []int64
		want   []int64
		data   string
	}{
		{types.I4, []int64{-8, 7, -1}, []int64{-8, 7, -1}, "\x78\x0f"},
		{types.U4, []int64{15, 1, 9}, []int64{15, 1, 9}, "\x1f\x09"},
		{types.U4, []int64{16, -1, 8}, []int64{0, 15, 8}, "\xf0\x08"},
	} {
		x := tensor.New(c.d, 1, 3)
		for i := range c.stored {
			x.SetInt(2-i, 5)
		}
		for i, v := range c.stored {
			x.SetInt(i, v)
		}
		turned := x.Transpose()
		for i, v := range c.want {
			if x.Int(i) != v || turned.Int(i) != v || x.Float(i) != float64(v) {
				t.Errorf("%s: element %d is %d, %d transposed, want %d", c.d, i, x.Int(i), turned.Int(i), v)
			}
		}
		if string(x.Bytes()) != c.data {
			t.Errorf("%s: bytes %x, want %x", c.d, x.Bytes(), c.data)
		}
		if _, err := tensor.Wrap(c.d, []int{3}, x.Bytes()); err != nil {
			t.Error(err)
		}
		if _, err := tensor.Wrap(c.d, []int{5}, x.Bytes()); err == nil {
			t.Errorf("%s: two bytes hold no five elements", c.d)
		}
	}
}

func TestTranspose(t *testing.T) {
	for _, d := range []types.DType{types.I4, types.U8, types.F32} {
		x := tensor.New(d, 3, 5)
		for i := range x.Len() {
			x.SetInt(i, int64(i%8))
		}
		y := x.Transpose()
		for i := range 3 {
			for j := range 5 {
				if y.Float(j*3+i) != x.Float(i*5+j) {
					t.Fatalf("%s: [%d, %d] is %v, want %v", d, j, i, y.Float(j*3+i), x.Float(i*5+j))
				}
			}
		}
	}
}
