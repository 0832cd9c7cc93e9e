package ops

import (
	"slices"
	"strings"
	"testing"

	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// eval runs an operator on values, which the random uses of the generic tests do not pin down.
func eval(t *testing.T, d *op.Def, attrs any, in ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	args := make([]op.Arg, len(in))
	for i, v := range in {
		args[i] = op.Arg{Tensor: v.Type(), Value: v}
	}
	ts, err := d.Infer(attrs, args)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]*tensor.Tensor, len(ts))
	for i, ty := range ts {
		out[i] = tensor.NewOf(ty)
	}
	if err := d.Eval(attrs, in, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func want[T tensor.Element](t *testing.T, got *tensor.Tensor, v ...T) {
	t.Helper()
	if g := tensor.As[T](got); !slices.Equal(g, v) {
		t.Errorf("got %v, want %v", g, v)
	}
}

func row[T tensor.Element](v ...T) *tensor.Tensor { return tensor.Of([]int{len(v)}, v) }

// TestNearestTies pins the rounding of places that lie in the middle between two elements, and at the border.
func TestNearestTies(t *testing.T) {
	x := row[int32](10, 20, 30, 40)
	for _, c := range []struct {
		size        int
		coord, mode string
		want        []int32
	}{
		{8, "asymmetric", "round_prefer_floor", []int32{10, 10, 20, 20, 30, 30, 40, 40}},
		{8, "asymmetric", "round_prefer_ceil", []int32{10, 20, 20, 30, 30, 40, 40, 40}},
		{8, "asymmetric", "floor", []int32{10, 10, 20, 20, 30, 30, 40, 40}},
		{8, "asymmetric", "ceil", []int32{10, 20, 20, 30, 30, 40, 40, 40}},
		{8, "half_pixel", "floor", []int32{10, 10, 10, 20, 20, 30, 30, 40}},
		{2, "half_pixel", "round_prefer_floor", []int32{10, 30}},
		{2, "half_pixel", "round_prefer_ceil", []int32{20, 40}},
		{2, "align_corners", "floor", []int32{10, 40}},
		{3, "tf_half_pixel_for_nn", "floor", []int32{10, 30, 40}},
		{1, "pytorch_half_pixel", "floor", []int32{10}},
	} {
		a := ResizeAttrs{Sizes: []int{c.size}, Method: "nearest", NearestMode: c.mode, CoordinateTransformationMode: c.coord}
		got := eval(t, Resize, a, x)[0]
		if !slices.Equal(tensor.As[int32](got), c.want) {
			t.Errorf("%s to %d, %s: got %v, want %v", c.coord, c.size, c.mode, tensor.As[int32](got), c.want)
		}
	}
}

// TestNearestUpsamplingIsADivision checks that the common case costs one shift: exact places lose what they have in common.
func TestNearestUpsamplingIsADivision(t *testing.T) {
	x := types.Of(types.F32, 7)
	for _, coord := range []string{"half_pixel", "asymmetric"} {
		a := ResizeAttrs{Sizes: []int{14}, Method: "nearest", NearestMode: "round_prefer_floor", CoordinateTransformationMode: coord}
		got := te.String(Resize.Compute(a, []*te.Stage{te.Input("x", x)}, []types.Tensor{types.Of(types.F32, 14)})...)
		if !strings.Contains(got, "x[floordiv(i0, 2)]") {
			t.Errorf("%s: %s", coord, got)
		}
	}
}

func TestRational(t *testing.T) {
	for x, want := range map[float64]fraction{
		float64(float32(0.6)): {3, 5}, 2: {2, 1}, 0: {0, 1}, float64(float32(-1.0 / 3)): {-1, 3}, float64(float32(8.0 / 7)): {8, 7},
	} {
		if got, err := rational(x); err != nil || got != want {
			t.Errorf("%v is %v (%v), want %v", x, got, err, want)
		}
	}
	for _, x := range []float64{1e30, 1e-30} {
		if _, err := rational(x); err == nil {
			t.Errorf("%v is accepted", x)
		}
	}
}

func TestLayoutTransformSetsTheLayout(t *testing.T) {
	out, err := LayoutTransform.Infer(LayoutTransformAttrs{"ABCD8b"}, []op.Arg{{Tensor: types.Of(types.F32, 1, 20, 3, 3)}})
	if err != nil || out[0].String() != "float32[1,20,3,3]:ABCD8b" {
		t.Errorf("%v, %v", out, err)
	}
}

// TestReshapeKeepsAxes checks that axes a reshape does not touch keep their index, so that it blocks neither fusion nor vectors.
func TestReshapeKeepsAxes(t *testing.T) {
	x, y := types.Of(types.F32, 2, 12, 5, 5), types.Of(types.F32, 2, 3, 4, 25)
	got := te.String(Reshape.Compute(ReshapeAttrs{y.Shape}, []*te.Stage{te.Input("x", x)}, []types.Tensor{y})...)
	if !strings.Contains(got, "x[i0, ((i1 * 4) + i2), floordiv(i3, 5), floormod(i3, 5)]") {
		t.Error(got)
	}
}

func TestPadReflectsAgain(t *testing.T) {
	a := PadAttrs{PadBefore: []int{5}, PadAfter: []int{4}, Mode: "reflect"}
	want[int32](t, eval(t, Pad, a, row[int32](1, 2, 3))[0], 2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3)
}

// TestResizeToNothing checks that an empty result divides by nothing.
func TestResizeToNothing(t *testing.T) {
	for _, coord := range coordinateModes {
		a := ResizeAttrs{Sizes: []int{0}, Method: "linear", CoordinateTransformationMode: coord, ROI: []float64{0, 1}}
		if got := eval(t, Resize, a, row[float32](1, 2, 3, 4, 5))[0]; got.Len() != 0 {
			t.Errorf("%s: %v", coord, got.Shape)
		}
		Resize.Compute(a, []*te.Stage{te.Input("x", types.Of(types.F32, 5))}, []types.Tensor{types.Of(types.F32, 0)})
	}
}
