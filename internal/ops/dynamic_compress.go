package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// CompressAttrs are the attributes of compress.
type CompressAttrs struct{ Axis int }

// Compress keeps the slices of an axis that a condition selects: numpy's and ONNX's compress.
var Compress = op.Define(op.Spec[CompressAttrs]{
	Name:   "compress",
	Doc:    "compress moves the slices of an axis whose condition holds to its front, in their order, and gives their number; what follows them is 0. A condition that is too short counts as false.",
	Args:   []string{"data", "condition"},
	Fusion: op.Opaque,
	Layout: op.Plain,

	Infer: func(a CompressAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := wantAxis(a.Axis, in[0].Rank()); err != nil {
			return nil, err
		}
		if in[1].DType != types.Bool || in[1].Rank() != 1 {
			return nil, fmt.Errorf("the condition is %s, not a row of bool", in[1])
		}
		return []types.Tensor{in[0].Tensor, types.Of(types.I64)}, nil
	},
	Eval: func(a CompressAttrs, in, out []*tensor.Tensor) error {
		n := 0
		for j := range min(in[0].Shape[a.Axis], in[1].Len()) {
			if in[1].Int(j) == 0 {
				continue
			}
			slice := slices.Clone(in[0].Shape)
			slice[a.Axis] = 1
			eachIndex(slice, func(at []int) {
				from, to := slices.Clone(at), slices.Clone(at)
				from[a.Axis], to[a.Axis] = j, n
				setElement(out[0], offsetOf(out[0].Shape, to), in[0], offsetOf(in[0].Shape, from))
			})
			n++
		}
		out[1].SetInt(0, int64(n))
		return nil
	},
	Sample: func(r *rand.Rand) (CompressAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(1, 4)
		return CompressAttrs{d.IntN(len(shape))}, []types.Tensor{types.Of(d.dtype(), shape...), types.Of(types.Bool, d.between(0, 8))}
	},
})
