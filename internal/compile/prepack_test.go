package compile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lathe/internal/op"
	"lathe/internal/ops"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestPacked compares with the definition: element by element, through the parts of the layout.
func TestPacked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct {
		shape  []int
		layout types.Layout
	}{
		{[]int{5, 7, 3, 2}, "ABCD4b3a"}, {[]int{8, 16, 1, 1}, "ABCD8b16a"}, {[]int{10, 9}, "BA4b"}, {[]int{3, 5}, "AB2a"},
		{[]int{2, 3, 4}, "ACB"}, {[]int{0, 4}, "AB4a"}, {[]int{1}, "A8a"}, {[]int{1001, 300}, "AB16a"}, {[]int{70, 3, 3000}, "ACB"},
		{[]int{2, 37, 45}, "ABC16b"}, {[]int{2, 37, 45}, "ABC16b16c"}, {[]int{3, 20, 33}, "ABC4c8b"}, {[]int{40, 50}, "BA"}, {[]int{2, 5, 7}, "ACB2b"},
	} {
		for _, d := range []types.DType{types.I8, types.F16, types.F32, types.F64} {
			size := d.Bytes(types.Count(tc.shape))
			x := tensor.Over(d, tc.shape, make([]byte, 1+size)[1:]) // as a model file may hold it
			for i := range x.Bytes() {
				x.Bytes()[i] = byte(1 + r.IntN(255))
			}
			later := tensor.Later(d, tc.shape, x, "copied", func(out []byte) { copy(out, x.Bytes()) })
			order := r.Perm(len(tc.shape))
			back := make([]int, len(order))
			for i, a := range order {
				back[a] = i
			}
			turned := tensor.Over(d, op.Permuted(tc.shape, order), ops.Transposed(x, order...).Bytes())
			view := ops.Transposed(turned, back...)
			got := packed(x, tc.layout)
			for name, y := range map[string]*tensor.Tensor{"made later": later, "a view": view} {
				for _, l := range []types.Layout{tc.layout, ""} {
					want := got
					if l == "" {
						want = x.Bytes()
					}
					var pieces bytes.Buffer
					if err := writePacked(&pieces, y, l, 2); err != nil || !bytes.Equal(pieces.Bytes(), want) || l != "" && !bytes.Equal(packed(y, l), want) {
						t.Fatalf("%v %s %s, %s: %v", tc.shape, l, d, name, err)
					}
				}
			}
			var pieces bytes.Buffer
			if err := writePacked(&pieces, x, tc.layout, 2); err != nil || !bytes.Equal(pieces.Bytes(), got) {
				t.Fatalf("%v %s %s: in pieces %v, %v, want %v", tc.shape, tc.layout, d, pieces.Bytes(), err, got)
			}
			dims, parts := tc.layout.Dims(tc.shape), tc.layout.Parts(len(tc.shape))
			at := make([]int, len(dims))
			for pos := range types.Count(dims) {
				rest := pos
				for i := len(dims) - 1; i >= 0; i-- {
					at[i], rest = rest%dims[i], rest/dims[i]
				}
				index, inside := make([]int, len(tc.shape)), true
				for i, p := range parts {
					if p.Block > 0 && !p.Inner {
						index[p.Axis] += at[i] * p.Block
					} else {
						index[p.Axis] += at[i]
					}
				}
				flat := 0
				for i, n := range tc.shape {
					inside = inside && index[i] < n
					flat = flat*n + index[i]
				}
				for k := range d.Size() {
					want := byte(0)
					if inside {
						want = x.Bytes()[flat*d.Size()+k]
					}
					if b := got[pos*d.Size()+k]; b != want {
						t.Fatalf("%v %s %s: byte %d of element %d is %d, want %d", tc.shape, tc.layout, d, k, pos, b, want)
					}
				}
			}
		}
	}
}
