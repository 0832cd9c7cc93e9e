package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// ScatterElementsAttrs are the attributes of scatter_elements. Reduction is none, add, mul, max or min.
type ScatterElementsAttrs struct {
	Axis      int
	Reduction string
}

// ScatterElements writes single elements along an axis: the inverse of gather. It has no tensor expression: which update
// comes last is a matter of order.
var ScatterElements = op.Define(op.Spec[ScatterElementsAttrs]{
	Name:   "scatter_elements",
	Doc:    "scatter_elements is data with each update put at its index along the axis, replacing or, by reduction, joining what is there; an index outside drops its update.",
	Args:   []string{"data", "indices", "updates"},
	Fusion: op.Opaque,
	Layout: op.Plain,

	Infer: func(a ScatterElementsAttrs, in []op.Arg) ([]types.Tensor, error) {
		data, indices, updates := in[0], in[1], in[2]
		if err := elementIndices(a.Axis, data.Tensor, indices.Tensor); err != nil {
			return nil, err
		}
		if updates.DType != data.DType || !slices.Equal(updates.Shape, indices.Shape) {
			return nil, fmt.Errorf("updates are %s, data %s and indices %s", updates, data, indices)
		}
		if err := checkReduction(a.Reduction, data.DType); err != nil {
			return nil, err
		}
		return []types.Tensor{data.Tensor}, nil
	},
	Eval: func(a ScatterElementsAttrs, in, out []*tensor.Tensor) error {
		indices, updates := in[1], in[2]
		copy(out[0].Bytes(), in[0].Bytes())
		eachIndex(indices.Shape, func(at []int) {
			j := offsetOf(indices.Shape, at)
			to := slices.Clone(at)
			index, ok := writeIndex(indices.Int(j), out[0].Shape[a.Axis])
			if to[a.Axis] = index; ok {
				update(a.Reduction, out[0], offsetOf(out[0].Shape, to), updates, j)
			}
		})
		return nil
	},
	Sample: func(r *rand.Rand) (ScatterElementsAttrs, []types.Tensor) {
		d := draw{r}
		shape, dt := d.full(1, 4), d.of(numbers)
		a := ScatterElementsAttrs{d.IntN(len(shape)), d.word("none", "add", "mul", "max", "min")}
		indices := d.within(shape, a.Axis)
		return a, []types.Tensor{types.Of(dt, shape...), types.Of(d.index(), indices...), types.Of(dt, indices...)}
	},
})
