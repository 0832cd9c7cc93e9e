package ops

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestTransposeBlocks: matrices of any size and any width of elements are turned whole, those that blocks do not divide too.
func TestTransposeBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	for range 60 {
		shape := make([]int, 2+r.IntN(3))
		for k := range shape {
			shape[k] = 1 + r.IntN([]int{3, 40, 100}[r.IntN(3)])
		}
		for types.Count(shape) > 1<<18 {
			shape[0], shape[1] = 1+shape[0]/2, 1+shape[1]/2
		}
		axes := r.Perm(len(shape))
		x := tensor.New([]types.DType{types.U8, types.I16, types.F32, types.I64, types.I4}[r.IntN(5)], shape...)
		for i := range x.Bytes() {
			x.Bytes()[i] = byte(r.Uint32())
		}
		later := Transposed(x, axes...)
		filled := bytes.Repeat([]byte{0xa5}, later.Size())
		later.Fill(filled)
		y := tensor.New(x.DType, op.Permuted(shape, axes)...)
		if err := Transpose.Eval(TransposeAttrs{axes}, []*tensor.Tensor{x}, []*tensor.Tensor{y}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(filled, y.Bytes()) || !bytes.Equal(later.Bytes(), y.Bytes()) || later.Type().String() != y.Type().String() {
			t.Errorf("%s%v by %v is another when it is made later, of type %s", x.DType, shape, axes, later.Type())
		}
		i := 0
		wrong := 0
		from := make([]int, len(shape))
		eachIndex(y.Shape, func(at []int) {
			for k, a := range axes {
				from[a] = at[k]
			}
			want := tensor.New(x.DType, 1)
			setElement(want, 0, x, offsetOf(shape, from))
			got := tensor.New(x.DType, 1)
			if setElement(got, 0, y, i); string(got.Bytes()) != string(want.Bytes()) {
				wrong++
			}
			i++
		})
		if wrong > 0 {
			t.Errorf("%s%v by %v: %d of %d elements are not those that they should be", x.DType, shape, axes, wrong, i)
		}
	}
}
