package ops

import (
	"fmt"
	"math"
	"math/rand/v2"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// LRNAttrs are the attributes of nn.lrn. Size elements along Axis, usually 1, are taken around each.
type LRNAttrs struct {
	Size, Axis        int
	Alpha, Beta, Bias float64
}

// LRN is ONNX's LRN: with an even size the window reaches one further behind than before.
var LRN = op.Define(op.Spec[LRNAttrs]{
	Name: "nn.lrn", Doc: "nn.lrn is data / (bias + alpha/size * sum(data^2))^beta, the sum being over neighbouring channels.",
	Args: []string{"data"}, Fusion: op.OutFusable, Layout: op.Same,
	Infer: func(a LRNAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := floats.check("data", in[0].DType); err != nil {
			return nil, err
		}
		if a.Size < 1 || a.Size > maxStep {
			return nil, fmt.Errorf("size is %d; it must be from 1 to %d", a.Size, maxStep)
		}
		return []types.Tensor{in[0].Tensor}, wantAxis(a.Axis, in[0].Rank())
	},
	Eval: func(a LRNAttrs, in, out []*tensor.Tensor) error {
		x := in[0]
		w := a.window(x.Shape)
		eachIndex(x.Shape, func(at []int) {
			from, sum := append([]int{}, at...), 0.0
			for lo, hi := w.inside(at[a.Axis]); lo < hi; lo++ {
				from[a.Axis] = w.at(at[a.Axis], lo)
				v := x.Float(offsetOf(x.Shape, from))
				sum += v * v
			}
			i := offsetOf(x.Shape, at)
			out[0].SetFloat(i, x.Float(i)/math.Pow(a.Bias+a.Alpha/float64(a.Size)*sum, a.Beta))
		})
		return nil
	},
	Compute: func(a LRNAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		x := in[0]
		w := a.window(x.Type.Shape)
		t := types.Of(out[0].DType.Compute(), out[0].Shape...)
		sum := te.Fold("lrn_sum", t, te.Sum, []int{w.size}, func(i, r []expr.Expr) expr.Expr {
			at, inside := w.index(i[a.Axis], r[0])
			v := x.At(with(i, a.Axis, at)...)
			return expr.If(inside, expr.Mul(v, v), zero(v))
		})
		return []*te.Stage{te.Compute("lrn", out[0], func(i []expr.Expr) expr.Expr {
			s := sum.At(i...)
			base := expr.Add(expr.Mul(s, like(s, a.Alpha/float64(a.Size))), like(s, a.Bias))
			return expr.Div(x.At(i...), expr.Bin(expr.OpPow, base, like(s, a.Beta)))
		})}
	},
	Axes: alongAxis(func(a *LRNAttrs) *int { return &a.Axis }),
	Sample: func(r *rand.Rand) (LRNAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(1, 4)
		a := LRNAttrs{d.between(1, 5), d.IntN(len(shape)), 0.1, 0.75, 1}
		return a, []types.Tensor{types.Of(d.of(floats), shape...)}
	},
})

func (a LRNAttrs) window(shape []int) window {
	n := shape[a.Axis]
	return window{in: n, out: n, size: a.Size, stride: 1, dilation: 1, before: (a.Size - 1) / 2, after: a.Size / 2}
}
