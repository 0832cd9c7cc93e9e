package ops

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestIdentity holds what operators declare to their reference: on random uses of every operator, where Identity says so,
// the one result has the type and the bits of operand 0, whatever the elements. Every declaration says yes for some of
// the uses and no for others, that of copy excepted.
func TestIdentity(t *testing.T) {
	for _, d := range All {
		if d.Identity == nil {
			continue
		}
		yes, no := 0, 0
		for seed := range uint64(3000) {
			r := rand.New(rand.NewPCG(seed, 21))
			a, in := d.Sample(r)
			u := use{d, a, in}
			if !d.Identity(a, in) {
				no++
				continue
			}
			yes++
			if err := handsOn(u, u.operands(r, special)); err != "" {
				t.Fatalf("seed %d: %s is no identity: %s", seed, u, err)
			}
		}
		if yes == 0 || no == 0 && d != Copy {
			t.Errorf("%s: %d uses are identities, %d are none", d.Name, yes, no)
		}
	}
}

// handsOn says how the result of u differs from operand 0, "" if it does not.
func handsOn(u use, vals []*tensor.Tensor) string {
	out, err := u.infer()
	switch {
	case err != nil:
		return err.Error()
	case len(out) != 1 || !out[0].With("").Equal(u.in[0].With("")):
		return "the types differ"
	}
	y := tensor.NewOf(out[0].With(""))
	if err := u.def.Eval(u.attrs, vals, []*tensor.Tensor{y}); err != nil {
		return err.Error()
	}
	if !bytes.Equal(y.Bytes(), vals[0].Bytes()) {
		return "the elements differ"
	}
	return ""
}

// TestNoIdentity: uses that keep the type and move or change elements are no identities.
func TestNoIdentity(t *testing.T) {
	for _, c := range []struct {
		def   *op.Def
		attrs any
		in    types.Tensor
	}{
		{StridedSlice, StridedSliceAttrs{Begin: []int{2}, End: []int{-1}, Strides: []int{-1}}, types.Of(types.F32, 3)},
		{Pad, PadAttrs{PadBefore: []int{1}, PadAfter: []int{-1}, Mode: "constant"}, types.Of(types.F32, 3)},
		{Pad, PadAttrs{PadBefore: []int{1}, PadAfter: []int{-1}, Mode: "constant"}, types.Of(types.F32, 1)},
		{Pad, PadAttrs{PadBefore: []int{1}, PadAfter: []int{-1}, Mode: "wrap"}, types.Of(types.F32, 3)},
		{Transpose, TransposeAttrs{Axes: []int{1, 0}}, types.Of(types.F32, 3, 3)},
		{Reverse, ReverseAttrs{Axes: []int{0}}, types.Of(types.F32, 3)},
		{Sum, ReduceAttrs{Axis: []int{0}, KeepDims: true}, types.Of(types.F32, 1)}, // -0 becomes 0
	} {
		r := rand.New(rand.NewPCG(1, 22))
		u := use{c.def, c.attrs, []types.Tensor{c.in}}
		vals := u.operands(r, moderate)
		if c.def == Sum {
			vals[0] = tensor.Of([]int{1}, []float32{float32(negativeZero)})
		}
		if handsOn(u, vals) != "the elements differ" {
			t.Errorf("%s: the case is none", u)
		}
		if c.def.Identity != nil && c.def.Identity(c.attrs, u.in) {
			t.Errorf("%s is taken for an identity", u)
		}
	}
}

var negativeZero = specialFloats[1]
