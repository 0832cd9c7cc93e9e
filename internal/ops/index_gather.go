package ops

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"lathe/internal/expr"
	"lathe/internal/op"
	"lathe/internal/te"
	"lathe/internal/tensor"
	"lathe/internal/types"
)

// GatherAttrs are the attributes of gather.
type GatherAttrs struct{ Axis int }

// Gather looks up single elements along an axis: ONNX's GatherElements, PyTorch's gather.
var Gather = op.Define(op.Spec[GatherAttrs]{
	Name:   "gather",
	Doc:    "gather replaces each index by the element of data at that place of the axis and the index's own place on the other axes; negative indices count from the end, others are clamped.",
	Args:   []string{"data", "indices"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a GatherAttrs, in []op.Arg) ([]types.Tensor, error) {
		data, indices := in[0], in[1]
		if err := elementIndices(a.Axis, data.Tensor, indices.Tensor); err != nil {
			return nil, err
		}
		if data.Shape[a.Axis] == 0 && indices.Elements() > 0 {
			return nil, fmt.Errorf("axis %d of %s is empty: there is nothing to gather", a.Axis, data)
		}
		return []types.Tensor{types.Of(data.DType, indices.Shape...)}, nil
	},
	Eval: func(a GatherAttrs, in, out []*tensor.Tensor) error {
		data, indices := in[0], in[1]
		rearrange(out[0], data, func(at []int) []int {
			at[a.Axis] = wrapIndex(int(indices.Int(offsetOf(indices.Shape, at))), data.Shape[a.Axis])
			return at
		})
		return nil
	},
	Compute: func(a GatherAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		return []*te.Stage{te.Compute("gather", out[0], func(i []expr.Expr) expr.Expr {
			index := wrapIndexExpr(in[1].At(i...), in[0].Type.Shape[a.Axis])
			return in[0].At(with(i, a.Axis, index)...)
		})}
	},
	Sample: func(r *rand.Rand) (GatherAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.full(1, 4)
		a := GatherAttrs{d.IntN(len(shape))}
		return a, []types.Tensor{types.Of(d.dtype(), shape...), types.Of(d.index(), d.within(shape, a.Axis)...)}
	},
})

// elementIndices checks an index operand with one entry per element: of data's rank and, but for the axis, no longer than data.
func elementIndices(axis int, data, indices types.Tensor) error {
	if err := wantAxis(axis, data.Rank()); err != nil {
		return err
	}
	if err := indexOperand("indices", indices); err != nil {
		return err
	}
	if indices.Rank() != data.Rank() {
		return fmt.Errorf("indices %s and data %s differ in rank", indices, data)
	}
	for k, n := range indices.Shape {
		if k != axis && n > data.Shape[k] {
			return fmt.Errorf("indices %s are longer than data %s on axis %d", indices, data, k)
		}
	}
	return nil
}

// within is a shape no longer than another, but for one axis, which has any length.
func (d draw) within(shape []int, axis int) []int {
	s := slices.Clone(shape)
	for k := range s {
		s[k] = d.between(1, s[k])
	}
	s[axis] = d.between(0, 6)
	return s
}
