package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/tool/spelling"
	"lathe/internal/types"
)

// Convolutions of quantised tensors by number of spatial axes: ONNX's ConvInteger.
var (
	QnnConv1d = qnnConv("qnn.conv1d", 1)
	QnnConv2d = qnnConv("qnn.conv2d", 2)
	QnnConv3d = qnnConv("qnn.conv3d", 3)
)

// QnnConv is the quantised convolution over n spatial axes, for n from 1 to 3.
var QnnConv = [...]*op.Def{1: QnnConv1d, 2: QnnConv2d, 3: QnnConv3d}

// qnnConv convolves data [N, C, spatial...], less its zero point, with weight [O, C/groups, kernel...], less its own, which
// may have one entry per output channel. Padding stands for the zero point and so adds nothing. Sums are int32 and wrap.
func qnnConv(name string, rank int) *op.Def {
	return op.Define(op.Spec[ConvAttrs]{
		Name: name,
		Doc:  fmt.Sprintf("%s is the int32 convolution of data - data_zero by weight - weight_zero over %s.", name, spelling.Count(rank, "spatial axis")),
		Args: []string{"data", "data_zero", "weight", "weight_zero"}, Fusion: op.OutFusable, Layout: op.Channels,
		Infer: func(a ConvAttrs, in []op.Arg) ([]types.Tensor, error) {
			data, weight := in[0], in[2]
			ws, err := a.windows(data, weight, rank)
			if err != nil {
				return nil, err
			}
			if err := zeroPoint("data", data.Tensor, in[1].Tensor, nil); err != nil {
				return nil, err
			}
			if err := zeroPoint("weight", weight.Tensor, in[3].Tensor, []int{weight.Shape[0]}); err != nil {
				return nil, err
			}
			return []types.Tensor{types.Of(types.I32, append([]int{data.Shape[0], weight.Shape[0]}, outs(ws)...)...)}, nil
		},
		Eval: func(a ConvAttrs, in, out []*tensor.Tensor) error {
			qnnConvEval(a, in, out[0])
			return nil
		},
		Compute: func(a ConvAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
			return []*te.Stage{qnnConvCompute(a, in, out[0])}
		},
		Sample: func(r *rand.Rand) (ConvAttrs, []types.Tensor) {
			a, ts := sampleConv(draw{r}, rank)
			x, w := types.Of(quantized[r.IntN(2)], ts[0].Shape...), types.Of(quantized[r.IntN(2)], ts[1].Shape...)
			zero := [][]int{nil, {1}, {w.Shape[0]}}[r.IntN(3)]
			return a, []types.Tensor{x, types.Of(x.DType), w, types.Of(w.DType, zero...)}
		},
	})
}

// perChannel is the granularity of zero points and scales along the first axis of an operand.
var perChannel = granularity{axis: 0}

// zeroPoint checks a quantised operand and its zero point: one number or, where each is not nil, of that shape.
func zeroPoint(name string, t, zero types.Tensor, each []int) error {
	if !slices.Contains(quantized, t.DType) {
		return fmt.Errorf("%s is %s, not one of %v", name, t.DType, quantized)
	}
	if zero.DType != t.DType {
		return fmt.Errorf("%s_zero is %s, %s is %s", name, zero.DType, name, t.DType)
	}
	if single(zero.Shape) || each != nil && zero.Equal(types.Of(t.DType, each...)) {
		return nil
	}
	return fmt.Errorf("%s_zero is %s, neither a scalar nor of shape %v", name, zero, each)
}

func qnnConvEval(a ConvAttrs, in []*tensor.Tensor, out *tensor.Tensor) {
	x, xz, w, wz := in[0], in[1], in[2], in[3]
	data, weight := make([]int32, x.Len()), make([]int32, w.Len())
	for i := range data {
		data[i] = int32(x.Int(i) - xz.Int(0))
	}
	each := max(1, types.Count(w.Shape[1:]))
	for i := range weight {
		weight[i] = int32(w.Int(i) - wz.Int(perChannel.offset(wz, []int{i / each})))
	}
	c := convolution{a.mustWindows(x.Shape, w.Shape), a.Groups, x.Shape, w.Shape}
	correlate(c, data, weight, make([]int32, out.Shape[1]), out)
}

func qnnConvCompute(a ConvAttrs, in []*te.Stage, out types.Tensor) *te.Stage {
	x, xz, w, wz := in[0], in[1], in[2], in[3]
	return a.fold("qnn_conv", x, w, out, func(v, u, o expr.Expr) expr.Expr {
		return expr.Mul(shifted(v, perChannel.at(xz, nil)), shifted(u, perChannel.at(wz, []expr.Expr{o})))
	})
}

// shifted is a quantised number less its zero point, in int32.
func shifted(x, zero expr.Expr) expr.Expr {
	return expr.Sub(expr.CastTo(types.I32, x), expr.CastTo(types.I32, zero))
}
