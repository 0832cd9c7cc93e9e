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

// DequantizeAttrs are the attributes of qnn.dequantize; see QuantizeAttrs.
type DequantizeAttrs struct{ Axis, BlockSize int }

func (a DequantizeAttrs) shared() granularity { return granularity{a.Axis, a.BlockSize} }

// Dequantize turns quantised integers into real numbers, as ONNX's DequantizeLinear does.
var Dequantize = op.Define(op.Spec[DequantizeAttrs]{
	Name:   "qnn.dequantize",
	Doc:    "qnn.dequantize is (data - zero_point) * scale: the difference in int32, the product in float32, the result of scale's type.",
	Args:   []string{"data", "scale", "zero_point"},
	MinIn:  2,
	Fusion: op.Broadcast,
	Layout: op.Free,

	Infer: func(a DequantizeAttrs, in []op.Arg) ([]types.Tensor, error) {
		data, scale := in[0], in[1]
		if data.DType != types.I32 && !slices.Contains(quantizedConst, data.DType) {
			return nil, fmt.Errorf("data is %s, not int32 or one of %v", data.DType, quantizedConst)
		}
		if scale.DType.Compute() != types.F32 {
			return nil, fmt.Errorf("scale is %s, not float32 or narrower", scale.DType)
		}
		if err := a.shared().check("scale", scale.Tensor, data.Tensor); err != nil {
			return nil, err
		}
		if len(in) > 2 {
			if in[2].DType != data.DType {
				return nil, fmt.Errorf("zero_point is %s, data %s", in[2].DType, data.DType)
			}
			if err := a.shared().check("zero_point", in[2].Tensor, data.Tensor); err != nil {
				return nil, err
			}
		}
		return []types.Tensor{types.Of(scale.DType, data.Shape...)}, nil
	},
	Eval: func(a DequantizeAttrs, in, out []*tensor.Tensor) error {
		eachIndex(in[0].Shape, func(at []int) {
			i := offsetOf(in[0].Shape, at)
			x := int32(in[0].Int(i))
			if len(in) > 2 {
				x -= int32(in[2].Int(a.shared().offset(in[2], at)))
			}
			out[0].SetFloat(i, float64(float32(x)*float32(in[1].Float(a.shared().offset(in[1], at)))))
		})
		return nil
	},
	Compute: func(a DequantizeAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("dequantize", out[0], func(i []expr.Expr) expr.Expr {
			x := expr.CastTo(types.I32, in[0].At(i...))
			if len(in) > 2 {
				x = expr.Sub(x, expr.CastTo(types.I32, a.shared().at(in[2], i)))
			}
			return expr.Mul(expr.CastTo(types.F32, x), a.shared().at(in[1], i))
		})}
	},
	Axes: func(a DequantizeAttrs, in []types.Tensor) *op.Axes {
		if a.BlockSize > 0 {
			return nil
		}
		return alongAxis(func(a *DequantizeAttrs) *int { return &a.Axis })(a, in)
	},
	Sample: func(r *rand.Rand) (DequantizeAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(1, 4)
		g, p := d.granularity(shape)
		dt := d.dtype(append([]types.DType{types.I32}, quantizedConst...)...)
		scale := d.dtype(types.F32, types.F32, types.F16, types.BF16)
		in := []types.Tensor{types.Of(dt, shape...), types.Of(scale, p...), types.Of(dt, p...)}
		return DequantizeAttrs{g.axis, g.block}, in[:d.between(2, 3)]
	},
})
