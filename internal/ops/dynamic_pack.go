package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// PackAttrs are the attributes of dynamic.pack.
type PackAttrs struct{ Axis int }

// DynamicPack brings a tensor whose extent along an axis depends on data into the memory of a tensor of just that extent.
var DynamicPack = op.Define(op.Spec[PackAttrs]{
	Name:   "dynamic.pack",
	Doc:    "dynamic.pack stores the first count elements along an axis densely at the start of the result, as a tensor of that extent lies in memory; the rest is 0. The count is clamped.",
	Args:   []string{"data", "count"},
	Fusion: op.Opaque,
	Layout: op.Plain,

	Infer: func(a PackAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := wantAxis(a.Axis, in[0].Rank()); err != nil {
			return nil, err
		}
		if in[1].DType != types.I64 || in[1].Rank() != 0 {
			return nil, fmt.Errorf("count is %s, not an int64 scalar", in[1])
		}
		return []types.Tensor{in[0].Tensor}, nil
	},
	Eval: func(a PackAttrs, in, out []*tensor.Tensor) error {
		small := slices.Clone(in[0].Shape)
		small[a.Axis] = int(max(0, min(int64(small[a.Axis]), in[1].Int(0))))
		eachIndex(small, func(at []int) {
			setElement(out[0], offsetOf(small, at), in[0], offsetOf(in[0].Shape, at))
		})
		return nil
	},
	Sample: func(r *rand.Rand) (PackAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(1, 4)
		return PackAttrs{d.IntN(len(shape))}, []types.Tensor{types.Of(d.dtype(), shape...), types.Of(types.I64)}
	},
})
