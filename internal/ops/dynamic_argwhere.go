package ops

import (
	"math/rand/v2"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// ArgWhere finds the elements that are not 0: numpy's and Relay's argwhere, transposed ONNX's NonZero.
var ArgWhere = op.Define(op.Spec[op.None]{
	Name:   "argwhere",
	Doc:    "argwhere gives the coordinates of the elements that are not 0, in row-major order, each a row of the first result, and their number; rows beyond it are 0.",
	Args:   []string{"data"},
	Fusion: op.Opaque,
	Layout: op.Plain,

	Infer: func(_ op.None, in []op.Arg) ([]types.Tensor, error) {
		return []types.Tensor{types.Of(types.I64, in[0].Elements(), in[0].Rank()), types.Of(types.I64)}, nil
	},
	Eval: func(_ op.None, in, out []*tensor.Tensor) error {
		rank, n := len(in[0].Shape), 0
		eachIndex(in[0].Shape, func(at []int) {
			if x := in[0].Float(offsetOf(in[0].Shape, at)); x == 0 {
				return
			}
			for k, i := range at {
				out[0].SetInt(n*rank+k, int64(i))
			}
			n++
		})
		out[1].SetInt(0, int64(n))
		return nil
	},
	Sample: func(r *rand.Rand) (op.None, []types.Tensor) {
		d := draw{r}
		return op.None{}, []types.Tensor{types.Of(d.dtype(types.Bool, types.I8, types.I64, types.U64, types.F32), d.shape(0, 4)...)}
	},
})
