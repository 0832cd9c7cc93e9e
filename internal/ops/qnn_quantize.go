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

// QuantizeAttrs are the attributes of qnn.quantize. Axis and BlockSize say which elements share a scale: with BlockSize 0
// those of one index of Axis, else runs of BlockSize along Axis; a scale of one element serves all. Rounding is HalfEven or HalfUp.
type QuantizeAttrs struct {
	Axis, BlockSize int
	OutDType        types.DType
	Rounding        string
}

func (a QuantizeAttrs) shared() granularity { return granularity{a.Axis, a.BlockSize} }

// Quantize turns real numbers into integers, as ONNX's QuantizeLinear does.
var Quantize = op.Define(op.Spec[QuantizeAttrs]{
	Name:   "qnn.quantize",
	Doc:    "qnn.quantize is round(data / scale) + zero_point, computed in float32 and clamped to out_dtype.",
	Args:   []string{"data", "scale", "zero_point"},
	MinIn:  2,
	Fusion: op.Broadcast,
	Layout: op.Free,

	Infer: func(a QuantizeAttrs, in []op.Arg) ([]types.Tensor, error) {
		data, scale := in[0], in[1]
		if data.DType.Compute() != types.F32 || scale.DType.Compute() != types.F32 {
			return nil, fmt.Errorf("data %s and scale %s are not both float32 or narrower", data, scale)
		}
		if !slices.Contains(quantizedConst, a.OutDType) {
			return nil, fmt.Errorf("out_dtype %s is not one of %v", a.OutDType, quantizedConst)
		}
		if err := checkRounding(a.Rounding); err != nil {
			return nil, err
		}
		if err := a.shared().check("scale", scale.Tensor, data.Tensor); err != nil {
			return nil, err
		}
		if len(in) > 2 {
			if in[2].DType != a.OutDType {
				return nil, fmt.Errorf("zero_point is %s, the result %s", in[2].DType, a.OutDType)
			}
			if err := a.shared().check("zero_point", in[2].Tensor, data.Tensor); err != nil {
				return nil, err
			}
		}
		return []types.Tensor{types.Of(a.OutDType, data.Shape...)}, nil
	},
	Eval: func(a QuantizeAttrs, in, out []*tensor.Tensor) error {
		eachIndex(in[0].Shape, func(at []int) {
			i := offsetOf(in[0].Shape, at)
			zero := int64(0)
			if len(in) > 2 {
				zero = in[2].Int(a.shared().offset(in[2], at))
			}
			x := float32(in[0].Float(i)) / float32(in[1].Float(a.shared().offset(in[1], at)))
			out[0].SetInt(i, saturate(a.OutDType, a.Rounding, x, zero))
		})
		return nil
	},
	Compute: func(a QuantizeAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("quantize", out[0], func(i []expr.Expr) expr.Expr {
			var zero expr.Expr
			if len(in) > 2 {
				zero = a.shared().at(in[2], i)
			}
			return saturateExpr(a.OutDType, a.Rounding, expr.Div(in[0].At(i...), a.shared().at(in[1], i)), zero)
		})}
	},
	Axes: func(a QuantizeAttrs, in []types.Tensor) *op.Axes {
		if a.BlockSize > 0 {
			return nil
		}
		return alongAxis(func(a *QuantizeAttrs) *int { return &a.Axis })(a, in)
	},
	Sample: func(r *rand.Rand) (QuantizeAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(1, 4)
		g, p := d.granularity(shape)
		dt := d.dtype(types.F32, types.F32, types.F16, types.BF16)
		a := QuantizeAttrs{g.axis, g.block, d.dtype(quantized...), roundings[r.IntN(len(roundings))]}
		in := []types.Tensor{types.Of(dt, shape...), types.Of(dt, p...), types.Of(a.OutDType, p...)}
		return a, in[:d.between(2, 3)]
	},
})
