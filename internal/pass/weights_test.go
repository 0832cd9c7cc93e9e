package pass

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestScaled compares weights that are scaled by their channel with the operator's definition, to the bit.
func TestScaled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for _, shape := range [][]int{{1}, {5}, {4, 3}, {7, 1, 1}, {6, 2, 3, 3}, {3, 0}} {
		x := tensor.New(types.F32, shape...)
		by := tensor.New(types.F32, append([]int{shape[0]}, ones(len(shape)-1)...)...)
		for i := range x.Len() {
			x.SetFloat(i, r.NormFloat64()*[]float64{1, 1e-40, 1e38}[i%3])
		}
		for i := range by.Len() {
			by.SetFloat(i, r.NormFloat64())
		}
		got, want := tensor.New(types.F32, shape...), tensor.New(types.F32, shape...)
		if !scaled(got, x, by) {
			t.Errorf("%v is not scaled", shape)
		}
		if err := ops.Multiply.Eval(op.None{}, []*tensor.Tensor{x, by}, []*tensor.Tensor{want}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Errorf("%v: other bits than by the definition", shape)
		}
	}
	if x := tensor.New(types.F32, 2, 3); scaled(tensor.New(types.F32, 2, 3), x, tensor.New(types.F32, 1, 3)) {
		t.Error("a scale along the second axis was taken for one along the first")
	}
}

func ones(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// TestWithoutZero holds weights without zero points to their definition: for each channel's zero point z, a weight is what is kept
// of it, plus what is left of z, and sums are those of all weights of a channel less z.
func TestWithoutZero(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 9))
	for _, typ := range []types.DType{types.I8, types.U8} {
		for axis, shape := range [][]int{{5, 2, 3}, {4, 7}} {
			for spread := 1; spread <= 256; spread *= 4 { // a small one fits int8 with any zero point near
				for _, zeros := range []int{1, shape[axis]} {
					w, wz := tensor.New(typ, shape...), tensor.New(typ, zeros)
					for i := range w.Len() {
						w.SetInt(i, int64(r.IntN(spread)))
					}
					for i := range zeros {
						wz.SetInt(i, int64(r.IntN(spread)))
					}
					got := withoutZero(w, wz, axis)
					sums := make([]int32, shape[axis])
					each := types.Count(shape[axis+1:])
					for i := range w.Len() {
						c := i / each % shape[axis]
						less := w.Int(i) - wz.Int(min(c, zeros-1))
						sums[c] += int32(less)
						if got.left != nil {
							less += int64(got.left[c])
						}
						if got.Int(i) != less {
							t.Fatalf("%s, %v, axis %d, weights below %d: weight %d is %d, want %d", typ, shape, axis, spread, i, got.Int(i), less)
						}
					}
					for c, s := range sums {
						if got.sums[c] != s {
							t.Fatalf("%s, %v, axis %d: the sum of channel %d is %d, want %d", typ, shape, axis, c, got.sums[c], s)
						}
					}
				}
			}
		}
	}
}
