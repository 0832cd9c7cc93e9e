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

// SoftmaxAttrs are the attributes of nn.softmax and nn.log_softmax.
type SoftmaxAttrs struct{ Axis int }

// Softmax and its logarithm, both relative to the greatest element of the line so that nothing overflows.
var (
	Softmax = softmax("nn.softmax", "exp(x) divided by its sum along an axis.",
		func(shifted, sum float64) float64 { return math.Exp(shifted) / sum },
		func(sum expr.Expr) expr.Expr { return expr.Div(like(sum, 1), sum) },
		func(shifted, e, inverse expr.Expr) expr.Expr { return expr.Mul(e, inverse) })
	LogSoftmax = softmax("nn.log_softmax", "the logarithm of softmax along an axis.",
		func(shifted, sum float64) float64 { return shifted - math.Log(sum) },
		func(sum expr.Expr) expr.Expr { return expr.Call(expr.FnLog, sum) },
		func(shifted, e, log expr.Expr) expr.Expr { return expr.Sub(shifted, log) })
)

// softmax defines f(shifted, sum) where shifted is x less the greatest of its line and sum that of e = exp(shifted). In
// tensor expressions f is body(shifted, e, line(sum)): what one line has in common is computed once.
func softmax(name, doc string, f func(shifted, sum float64) float64, line func(sum expr.Expr) expr.Expr, body func(shifted, e, line expr.Expr) expr.Expr) *op.Def {
	return op.Define(op.Spec[SoftmaxAttrs]{
		Name: name, Doc: name + " is " + doc,
		Args: []string{"data"}, Fusion: op.OutFusable, Layout: op.Same,
		Infer: func(a SoftmaxAttrs, in []op.Arg) ([]types.Tensor, error) {
			if err := floats.check("data", in[0].DType); err != nil {
				return nil, err
			}
			return []types.Tensor{in[0].Tensor}, wantAxis(a.Axis, in[0].Rank())
		},
		Eval: func(a SoftmaxAttrs, in, out []*tensor.Tensor) error {
			x, red := in[0], ReduceAttrs{Axis: []int{a.Axis}}
			lines := types.Count(red.keptShape(x.Shape))
			greatest, sum := make([]float64, lines), make([]float64, lines)
			for j := range greatest {
				greatest[j] = math.Inf(-1)
			}
			red.each(x.Shape, func(i, j int) { greatest[j] = max(greatest[j], x.Float(i)) })
			red.each(x.Shape, func(i, j int) { sum[j] += math.Exp(x.Float(i) - greatest[j]) })
			red.each(x.Shape, func(i, j int) { out[0].SetFloat(i, f(x.Float(i)-greatest[j], sum[j])) })
			return nil
		},
		Compute: func(a SoftmaxAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
			x, red := in[0], ReduceAttrs{[]int{a.Axis}, true}
			wide := out[0].DType.Compute()
			lines, all := types.Of(wide, red.keptShape(out[0].Shape)...), types.Of(wide, out[0].Shape...)
			greatest := red.fold("softmax_max", x, lines, te.Greater, func(x expr.Expr) expr.Expr { return x })
			e := te.Compute("softmax_exp", all, func(i []expr.Expr) expr.Expr {
				return expr.Call(expr.FnExpNeg, expr.Sub(x.At(i...), greatest.At(red.kept(i)...)))
			})
			sum := red.fold("softmax_sum", e, lines, te.Sum, func(x expr.Expr) expr.Expr { return x })
			common := te.Compute("softmax_line", lines, func(i []expr.Expr) expr.Expr { return line(sum.At(i...)) })
			return []*te.Stage{te.Compute("softmax", out[0], func(i []expr.Expr) expr.Expr {
				kept := red.kept(i)
				return body(expr.Sub(x.At(i...), greatest.At(kept...)), e.At(i...), common.At(kept...))
			})}
		},
		Axes: alongAxis(func(a *SoftmaxAttrs) *int { return &a.Axis }),
		Sample: func(r *rand.Rand) (SoftmaxAttrs, []types.Tensor) {
			d := draw{r}
			shape := d.shape(1, 4)
			return SoftmaxAttrs{d.IntN(len(shape))}, []types.Tensor{types.Of(d.of(floats), shape...)}
		},
	})
}
