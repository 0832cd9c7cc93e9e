package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// RequantizeAttrs are the attributes of qnn.requantize. Scales and zero points are single numbers or have one entry per
// index of Axis. Rounding is HalfEven or HalfUp.
type RequantizeAttrs struct {
	Axis     int
	OutDType types.DType
	Rounding string
}

// Requantize moves integers from one scale and zero point to another. Of a convolution's sums the input scale is the
// product of the scales of data and weight, itself rounded to float32.
var Requantize = op.Define(op.Spec[RequantizeAttrs]{
	Name: "qnn.requantize",
	Doc: "qnn.requantize is round((data - input_zero) * (input_scale / output_scale)) + output_zero, clamped to out_dtype: " +
		"the difference in int32, the quotient and the product in float32.",
	Args:   []string{"data", "input_scale", "input_zero", "output_scale", "output_zero"},
	Fusion: op.Broadcast,
	Layout: op.Free,

	Infer: func(a RequantizeAttrs, in []op.Arg) ([]types.Tensor, error) {
		data := in[0]
		if data.DType != types.I32 && !slices.Contains(quantized, data.DType) {
			return nil, fmt.Errorf("data is %s, not int32 or one of %v", data.DType, quantized)
		}
		if !slices.Contains(quantized, a.OutDType) {
			return nil, fmt.Errorf("out_dtype %s is not one of %v", a.OutDType, quantized)
		}
		if err := checkRounding(a.Rounding); err != nil {
			return nil, err
		}
		params := []string{"input_scale", "input_zero", "output_scale", "output_zero"}
		for k, want := range []types.DType{types.F32, data.DType, types.F32, a.OutDType} {
			if in[k+1].DType != want {
				return nil, fmt.Errorf("%s is %s, not %s", params[k], in[k+1].DType, want)
			}
			if err := a.shared().check(params[k], in[k+1].Tensor, data.Tensor); err != nil {
				return nil, err
			}
		}
		return []types.Tensor{types.Of(a.OutDType, data.Shape...)}, nil
	},
	Eval: func(a RequantizeAttrs, in, out []*tensor.Tensor) error {
		eachIndex(in[0].Shape, func(at []int) {
			i := offsetOf(in[0].Shape, at)
			param := func(k int) int { return a.shared().offset(in[k], at) }
			x := int32(in[0].Int(i)) - int32(in[2].Int(param(2)))
			scale := float32(in[1].Float(param(1))) / float32(in[3].Float(param(3)))
			out[0].SetInt(i, saturate(a.OutDType, a.Rounding, float32(x)*scale, in[4].Int(param(4))))
		})
		return nil
	},
	Compute: func(a RequantizeAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("requantize", out[0], func(i []expr.Expr) expr.Expr {
			param := func(k int) expr.Expr { return a.shared().at(in[k], i) }
			x := expr.CastTo(types.F32, shifted(in[0].At(i...), param(2)))
			return saturateExpr(a.OutDType, a.Rounding, expr.Mul(x, expr.Div(param(1), param(3))), param(4))
		})}
	},
	Axes: alongAxis(func(a *RequantizeAttrs) *int { return &a.Axis }),
	Sample: func(r *rand.Rand) (RequantizeAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(1, 4)
		a := RequantizeAttrs{d.IntN(len(shape)), d.dtype(quantized...), roundings[r.IntN(len(roundings))]}
		dt := d.dtype(append([]types.DType{types.I32, types.I32, types.I32}, quantized...)...)
		per := func(t types.DType) types.Tensor {
			return types.Of(t, [][]int{nil, {1}, {shape[a.Axis]}}[r.IntN(3)]...)
		}
		return a, []types.Tensor{types.Of(dt, shape...), per(types.F32), per(dt), per(types.F32), per(a.OutDType)}
	},
})

func (a RequantizeAttrs) shared() granularity { return granularity{axis: a.Axis} }
