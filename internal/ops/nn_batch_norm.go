package ops

import (
	"math"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// BatchNormAttrs are the attributes of nn.batch_norm. Axis is that of the channels, usually 1.
type BatchNormAttrs struct {
	Axis    int
	Epsilon float64
}

// BatchNorm is the inference form: mean and variance are operands.
var BatchNorm = op.Define(op.Spec[BatchNormAttrs]{
	Name: "nn.batch_norm", Doc: "nn.batch_norm is (data - mean) / sqrt(var + epsilon) * gamma + beta, by channel.",
	Args: []string{"data", "gamma", "beta", "mean", "var"}, Fusion: op.Broadcast, Layout: op.Channels,
	Infer: func(a BatchNormAttrs, in []op.Arg) ([]types.Tensor, error) {
		names := []string{"data", "gamma", "beta", "mean", "var"}
		if err := sameDType(floats, names, in); err != nil {
			return nil, err
		}
		if err := wantAxis(a.Axis, in[0].Rank()); err != nil {
			return nil, err
		}
		for i := 1; i < len(in); i++ {
			if err := wantShape(names[i], in[i], in[0].Shape[a.Axis]); err != nil {
				return nil, err
			}
		}
		return []types.Tensor{in[0].Tensor}, nil
	},
	Eval: func(a BatchNormAttrs, in, out []*tensor.Tensor) error {
		eachIndex(out[0].Shape, func(at []int) {
			i, c := offsetOf(out[0].Shape, at), at[a.Axis]
			x, gamma, beta, mean, v := in[0].Float(i), in[1].Float(c), in[2].Float(c), in[3].Float(c), in[4].Float(c)
			out[0].SetFloat(i, (x-mean)/math.Sqrt(v+a.Epsilon)*gamma+beta)
		})
		return nil
	},
	Compute: func(a BatchNormAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("batch_norm", out[0], func(i []expr.Expr) expr.Expr {
			c := i[a.Axis]
			x, gamma, beta, mean, v := in[0].At(i...), in[1].At(c), in[2].At(c), in[3].At(c), in[4].At(c)
			scale := expr.Div(gamma, expr.Call(expr.FnSqrt, expr.Add(v, like(v, a.Epsilon))))
			return expr.Add(expr.Mul(expr.Sub(x, mean), scale), beta)
		})}
	},
	Axes: alongAxis(func(a *BatchNormAttrs) *int { return &a.Axis }),
	Sample: func(r *rand.Rand) (BatchNormAttrs, []types.Tensor) {
		d := draw{r}
		t, shape := d.of(floats), d.shape(1, 4)
		axis := min(1, len(shape)-1)
		if d.coin(3) {
			axis = d.IntN(len(shape))
		}
		channel := types.Of(t, shape[axis])
		return BatchNormAttrs{axis, 1e-5}, []types.Tensor{types.Of(t, shape...), channel, channel, channel, channel}
	},
})
