package ops

import (
	"math"
	"testing"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// TestQuantizeRounds pins ties to even, the order of rounding and zero point, and saturation.
func TestQuantizeRounds(t *testing.T) {
	x := row[float32](0.5, 1.5, 2.5, -0.5, 300, -300, float32(math.Inf(1)), float32(math.NaN()))
	a := QuantizeAttrs{OutDType: types.U8, Rounding: HalfEven}
	want[uint8](t, eval(t, Quantize, a, x, tensor.Scalar[float32](1), tensor.Scalar[uint8](3))[0], 3, 5, 5, 3, 255, 0, 255, 0)
	if _, err := Quantize.Infer(QuantizeAttrs{OutDType: types.U8}, []op.Arg{{Tensor: x.Type()}, {Tensor: types.Of(types.F32)}}); err == nil {
		t.Error("a use that does not say how to round is accepted")
	}
}

// TestRequantizeScale pins that the quotient of the scales is rounded to float32 before the product: 0.3/0.2 becomes 1.5
// although the float32 numbers' own quotient is greater, so that 3*1.5 is a tie.
func TestRequantizeScale(t *testing.T) {
	a := RequantizeAttrs{OutDType: types.I8, Rounding: HalfEven}
	got := eval(t, Requantize, a, row[int32](3, -3, 10000), tensor.Scalar[float32](0.3), tensor.Scalar[int32](0),
		tensor.Scalar[float32](0.2), tensor.Scalar[int8](-1))
	want[int8](t, got[0], 3, -5, 127)
}

// TestQnnConvPadsWithTheZeroPoint is ONNX's example of ConvInteger with padding.
func TestQnnConvPadsWithTheZeroPoint(t *testing.T) {
	x := tensor.Of([]int{1, 1, 3, 3}, []uint8{2, 3, 4, 5, 6, 7, 8, 9, 10})
	w := tensor.Of([]int{1, 1, 2, 2}, []uint8{1, 1, 1, 1})
	a := ConvAttrs{Strides: []int{1, 1}, Padding: []int{1, 1, 1, 1}, Dilation: []int{1, 1}, Groups: 1}
	got := eval(t, QnnConv2d, a, x, tensor.Scalar[uint8](1), w, tensor.Scalar[uint8](0))
	want[int32](t, got[0], 1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9)
}

// TestHalfUp pins ties upward, where x + 1/2 itself would round to the next integer, and infinities; and that a requantize by a
// power of two is a shift of integers.
func TestHalfUp(t *testing.T) {
	below := math.Nextafter32(0.5, 0)
	x := row[float32](0.5, 1.5, -0.5, -1.5, below, -below, -1e-9, 300, float32(math.Inf(-1)), float32(math.NaN()))
	a := QuantizeAttrs{OutDType: types.I8, Rounding: HalfUp}
	want[int8](t, eval(t, Quantize, a, x, tensor.Scalar[float32](1))[0], 1, 2, 0, -1, 0, 0, 0, 127, -128, 0)
	for shift := range 17 {
		var sums []int32
		var shifted []int8
		for _, near := range []int32{0, 1, -1, 127, -128, -129, 128, 1 << 20, -1 << 20} {
			for d := int32(-2); d <= 2; d++ {
				s := near<<min(shift, 10) + 1<<shift>>1 + d
				sums = append(sums, s)
				shifted = append(shifted, int8(max(-128, min(127, (int64(s)+1<<shift>>1)>>shift))))
			}
		}
		a := RequantizeAttrs{OutDType: types.I8, Rounding: HalfUp}
		got := eval(t, Requantize, a, row(sums...), tensor.Scalar(float32(math.Ldexp(1, -shift))), tensor.Scalar[int32](0),
			tensor.Scalar[float32](1), tensor.Scalar[int8](0))
		want(t, got[0], shifted...)
	}
}
