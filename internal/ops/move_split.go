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

// SplitAttrs are the attributes of split. Result k has Sizes[k] elements along Axis.
type SplitAttrs struct {
	Axis  int
	Sizes []int
}

// Split cuts a tensor into consecutive parts along an axis: the inverse of concatenate.
var Split = op.Define(op.Spec[SplitAttrs]{
	Name:   "split",
	Doc:    "split cuts a tensor along an axis into one result per entry of sizes, whose sum is the axis.",
	Args:   []string{"data"},
	Fusion: op.Injective,
	Layout: op.Same,

	Infer: func(a SplitAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := wantAxis(a.Axis, in[0].Rank()); err != nil {
			return nil, err
		}
		if len(a.Sizes) == 0 {
			return nil, fmt.Errorf("no sizes")
		}
		left := in[0].Shape[a.Axis]
		var out []types.Tensor
		for _, n := range a.Sizes {
			if n < 0 || n > left {
				return nil, fmt.Errorf("sizes %v of axis %d of %s", a.Sizes, a.Axis, in[0])
			}
			left -= n
			shape := slices.Clone(in[0].Shape)
			shape[a.Axis] = n
			out = append(out, types.Of(in[0].DType, shape...))
		}
		if left != 0 {
			return nil, fmt.Errorf("sizes %v leave %s of axis %d of %s", a.Sizes, spelling.Count(left, "element"), a.Axis, in[0])
		}
		return out, nil
	},
	Eval: func(a SplitAttrs, in, out []*tensor.Tensor) error {
		start := 0
		for k, o := range out {
			rearrange(o, in[0], func(at []int) []int {
				at[a.Axis] += start
				return at
			})
			start += a.Sizes[k]
		}
		return nil
	},
	Compute: func(a SplitAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		var parts []*te.Stage
		start := 0
		for k, t := range out {
			parts = append(parts, te.Compute(fmt.Sprintf("split%d", k), t, func(i []expr.Expr) expr.Expr {
				return in[0].At(with(i, a.Axis, scaled(1, i[a.Axis], start))...)
			}))
			start += a.Sizes[k]
		}
		return parts
	},
	Identity: func(a SplitAttrs, in []types.Tensor) bool { return len(a.Sizes) == 1 },
	Axes:     alongAxis(func(a *SplitAttrs) *int { return &a.Axis }),
	Sample: func(r *rand.Rand) (SplitAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(1, 4)
		axis := d.IntN(len(shape))
		sizes := make([]int, d.between(1, 4))
		shape[axis] = 0
		for k := range sizes {
			sizes[k] = d.between(0, 4)
			shape[axis] += sizes[k]
		}
		return SplitAttrs{axis, sizes}, []types.Tensor{types.Of(d.dtype(), shape...)}
	},
})
