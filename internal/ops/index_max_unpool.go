package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// MaxUnpoolAttrs are the attributes of nn.max_unpool. Shape is the result's: the one that the indices count in.
type MaxUnpoolAttrs struct{ Shape []int }

// MaxUnpool puts elements back where max pooling took them. It has no tensor expression: indices may repeat.
var MaxUnpool = op.Define(op.Spec[MaxUnpoolAttrs]{
	Name:   "nn.max_unpool",
	Doc:    "nn.max_unpool puts each element at its index into the row-major result, which is 0 elsewhere; of several the last stays, an index outside drops its element.",
	Args:   []string{"data", "indices"},
	Fusion: op.Opaque,
	Layout: op.Plain,

	Infer: func(a MaxUnpoolAttrs, in []op.Arg) ([]types.Tensor, error) {
		if err := indexOperand("indices", in[1].Tensor); err != nil {
			return nil, err
		}
		if !slices.Equal(in[0].Shape, in[1].Shape) {
			return nil, fmt.Errorf("data %s and indices %s differ in shape", in[0], in[1])
		}
		return []types.Tensor{types.Of(in[0].DType, slices.Clone(a.Shape)...)}, nil
	},
	Eval: func(_ MaxUnpoolAttrs, in, out []*tensor.Tensor) error {
		for i := range in[0].Len() {
			if to := in[1].Int(i); to >= 0 && to < int64(out[0].Len()) {
				setElement(out[0], int(to), in[0], i)
			}
		}
		return nil
	},
	Sample: func(r *rand.Rand) (MaxUnpoolAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.shape(3, 4)
		large := slices.Clone(shape)
		for k := 2; k < len(large); k++ {
			large[k] *= 2
		}
		return MaxUnpoolAttrs{large}, []types.Tensor{types.Of(d.dtype(), shape...), types.Of(types.I64, shape...)}
	},
})
