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

// L2NormalizeAttrs are the attributes of nn.l2_normalize. No axes means all axes.
type L2NormalizeAttrs struct {
	Axis    []int
	Epsilon float64
}

// L2Normalize is Relay's: the epsilon bounds the squared norm from below.
var L2Normalize = op.Define(op.Spec[L2NormalizeAttrs]{
	Name: "nn.l2_normalize", Doc: "nn.l2_normalize is data / sqrt(max(sum(data^2), epsilon)), the sum being along axes.",
	Args: []string{"data"}, Fusion: op.OutFusable, Layout: op.Same,
	Infer: func(a L2NormalizeAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := floats.check("data", in[0].DType); err != nil {
			return nil, err
		}
		return []types.Tensor{in[0].Tensor}, wantAxes(a.Axis, in[0].Rank())
	},
	Eval: func(a L2NormalizeAttrs, in, out []*tensor.Tensor) error {
		x, red := in[0], ReduceAttrs{Axis: a.Axis}
		sum := make([]float64, types.Count(red.keptShape(x.Shape)))
		red.each(x.Shape, func(i, j int) { sum[j] += x.Float(i) * x.Float(i) })
		red.each(x.Shape, func(i, j int) { out[0].SetFloat(i, x.Float(i)/math.Sqrt(max(sum[j], a.Epsilon))) })
		return nil
	},
	Compute: func(a L2NormalizeAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		x, red := in[0], ReduceAttrs{a.Axis, true}
		t := types.Of(out[0].DType.Compute(), red.keptShape(out[0].Shape)...)
		sum := red.fold("square_sum", x, t, te.Sum, func(x expr.Expr) expr.Expr { return expr.Mul(x, x) })
		inverse := te.Compute("inverse_norm", t, func(i []expr.Expr) expr.Expr {
			s := sum.At(i...)
			return expr.Div(like(s, 1), expr.Call(expr.FnSqrt, expr.Max(s, like(s, a.Epsilon))))
		})
		return []*te.Stage{te.Compute("l2_normalize", out[0], func(i []expr.Expr) expr.Expr {
			return expr.Mul(x.At(i...), inverse.At(red.kept(i)...))
		})}
	},
	Axes: func(a L2NormalizeAttrs, in []types.Tensor) *op.Axes {
		return orderData(in, func(order []int) any { return L2NormalizeAttrs{places(order, a.Axis), a.Epsilon} })
	},
	Sample: func(r *rand.Rand) (L2NormalizeAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(0, 4)
		return L2NormalizeAttrs{d.axes(len(shape)), 1e-3}, []types.Tensor{types.Of(d.of(floats), shape...)}
	},
})
