package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/op"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// ScatterNDAttrs are the attributes of scatter_nd. Reduction is none, add, mul, max or min.
type ScatterNDAttrs struct{ Reduction string }

// ScatterND writes slices by coordinates, which lie along the last axis of indices: the inverse of gather_nd. It has no
// tensor expression: which update comes last is a matter of order.
var ScatterND = op.Define(op.Spec[ScatterNDAttrs]{
	Name:   "scatter_nd",
	Doc:    "scatter_nd is data with each slice of updates put at its coordinates, replacing or, by reduction, joining what is there; coordinates outside drop their update.",
	Args:   []string{"data", "indices", "updates"},
	Fusion: op.Opaque,
	Layout: op.Plain,

	Infer: func(a ScatterNDAttrs, in []op.Arg) ([]types.Tensor, error) {
		data, indices, updates := in[0], in[1], in[2]
		if err := indexOperand("indices", indices.Tensor); err != nil {
			return nil, err
		}
		last := indices.Rank() - 1
		if last < 0 || indices.Shape[last] > data.Rank() {
			return nil, fmt.Errorf("indices %s into %s", indices, data)
		}
		want := types.Of(data.DType, slices.Concat(indices.Shape[:last], data.Shape[indices.Shape[last]:])...)
		if !updates.Equal(want) {
			return nil, fmt.Errorf("updates are %s instead of %s", updates, want)
		}
		if err := checkReduction(a.Reduction, data.DType); err != nil {
			return nil, err
		}
		return []types.Tensor{data.Tensor}, nil
	},
	Eval: func(a ScatterNDAttrs, in, out []*tensor.Tensor) error {
		indices, updates := in[1], in[2]
		last := len(indices.Shape) - 1
		copy(out[0].Bytes(), in[0].Bytes())
		eachIndex(updates.Shape, func(at []int) {
			var to []int
			for c := range indices.Shape[last] {
				index, ok := writeIndex(indices.Int(offsetOf(indices.Shape, slices.Concat(at[:last], []int{c}))), out[0].Shape[c])
				if !ok {
					return
				}
				to = append(to, index)
			}
			to = append(to, at[last:]...)
			update(a.Reduction, out[0], offsetOf(out[0].Shape, to), updates, offsetOf(updates.Shape, at))
		})
		return nil
	},
	Sample: func(r *rand.Rand) (ScatterNDAttrs, []types.Tensor) {
		d := draw{r}
		shape, dt := d.full(1, 4), d.of(numbers)
		count, lead := d.between(1, len(shape)), d.shape(0, 2)
		in := []types.Tensor{types.Of(dt, shape...), types.Of(d.index(), slices.Concat(lead, []int{count})...), types.Of(dt, slices.Concat(lead, shape[count:])...)}
		return ScatterNDAttrs{d.word("none", "add", "mul", "max", "min")}, in
	},
})
