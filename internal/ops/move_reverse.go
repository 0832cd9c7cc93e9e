package ops

import (
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// ReverseAttrs are the attributes of reverse.
type ReverseAttrs struct{ Axes []int }

// Reverse turns the order of the elements around along the given axes.
var Reverse = op.Define(op.Spec[ReverseAttrs]{
	Name:   "reverse",
	Doc:    "reverse turns the order of the elements around along each of axes.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Same,

	Infer: func(a ReverseAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := wantAxes(a.Axes, in[0].Rank()); err != nil {
			return nil, err
		}
		return []types.Tensor{in[0].Tensor}, nil
	},
	Eval: func(a ReverseAttrs, in, out []*tensor.Tensor) error {
		rearrange(out[0], in[0], func(at []int) []int {
			for _, k := range a.Axes {
				at[k] = in[0].Shape[k] - 1 - at[k]
			}
			return at
		})
		return nil
	},
	Compute: func(a ReverseAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("reverse", out[0], func(i []expr.Expr) expr.Expr {
			from := slices.Clone(i)
			for _, k := range a.Axes {
				from[k] = expr.Sub(expr.Index(out[0].Shape[k]-1), i[k])
			}
			return in[0].At(from...)
		})}
	},
	Identity: func(a ReverseAttrs, in []types.Tensor) bool {
		return !slices.ContainsFunc(a.Axes, func(k int) bool { return in[0].Shape[k] > 1 })
	},
	Axes: func(a ReverseAttrs, in []types.Tensor) *op.Axes {
		return orderData(in, func(order []int) any { return ReverseAttrs{places(order, a.Axes)} })
	},
	Sample: func(r *rand.Rand) (ReverseAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(0, 4)
		return ReverseAttrs{d.axes(len(shape))}, []types.Tensor{types.Of(d.dtype(), shape...)}
	},
})
