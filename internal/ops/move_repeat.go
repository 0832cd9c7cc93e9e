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

// RepeatAttrs are the attributes of repeat.
type RepeatAttrs struct{ Axis, Repeats int }

// Repeat repeats each element of an axis in place.
var Repeat = op.Define(op.Spec[RepeatAttrs]{
	Name:   "repeat",
	Doc:    "repeat repeats every element of an axis, next to itself: a, a, b, b.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Same,

	Infer: func(a RepeatAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := wantAxis(a.Axis, in[0].Rank()); err != nil {
			return nil, err
		}
		n, err := repeated(in[0].Shape[a.Axis], a.Repeats)
		if err != nil {
			return nil, err
		}
		shape := slices.Clone(in[0].Shape)
		shape[a.Axis] = n
		return []types.Tensor{types.Of(in[0].DType, shape...)}, nil
	},
	Eval: func(a RepeatAttrs, in, out []*tensor.Tensor) error {
		rearrange(out[0], in[0], func(at []int) []int {
			at[a.Axis] /= a.Repeats
			return at
		})
		return nil
	},
	Compute: func(a RepeatAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("repeat", out[0], func(i []expr.Expr) expr.Expr {
			return in[0].At(with(i, a.Axis, quotient(i[a.Axis], a.Repeats))...)
		})}
	},
	Identity: func(a RepeatAttrs, _ []types.Tensor) bool { return a.Repeats == 1 },
	Axes:     alongAxis(func(a *RepeatAttrs) *int { return &a.Axis }),
	Sample: func(r *rand.Rand) (RepeatAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(1, 4)
		return RepeatAttrs{d.IntN(len(shape)), d.between(1, 3)}, []types.Tensor{types.Of(d.dtype(), shape...)}
	},
})
