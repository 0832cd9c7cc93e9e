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

// TakeAttrs are the attributes of take.
type TakeAttrs struct{ Axis int }

// Take looks up slices of data by index: numpy's take, ONNX's Gather. The axis is replaced by the axes of indices.
var Take = op.Define(op.Spec[TakeAttrs]{
	Name:   "take",
	Doc:    "take looks up slices of data along an axis, which the axes of indices replace; negative indices count from the end, others are clamped.",
	Args:   []string{"data", "indices"},
	Fusion: op.Injective,
	Layout: op.Plain,

	Infer: func(a TakeAttrs, in []op.Arg) ([]types.Tensor, error) {
		data, indices := in[0], in[1]
		if err := wantAxis(a.Axis, data.Rank()); err != nil {
			return nil, err
		}
		if err := indexOperand("indices", indices.Tensor); err != nil {
			return nil, err
		}
		t := types.Of(data.DType, slices.Concat(data.Shape[:a.Axis], indices.Shape, data.Shape[a.Axis+1:])...)
		if data.Shape[a.Axis] == 0 && t.Elements() > 0 {
			return nil, fmt.Errorf("axis %d of %s is empty: there is nothing to take", a.Axis, data)
		}
		return []types.Tensor{t}, nil
	},
	Eval: func(a TakeAttrs, in, out []*tensor.Tensor) error {
		data, indices := in[0], in[1]
		rank := len(indices.Shape)
		rearrange(out[0], data, func(at []int) []int {
			j := offsetOf(indices.Shape, at[a.Axis:a.Axis+rank])
			index := wrapIndex(int(indices.Int(j)), data.Shape[a.Axis])
			return slices.Concat(at[:a.Axis], []int{index}, at[a.Axis+rank:])
		})
		return nil
	},
	Compute: func(a TakeAttrs, in []*te.Stage, out []types.Tensor) []*te.Stage {
		data, indices := in[0], in[1]
		rank := len(indices.Type.Shape)
		return []*te.Stage{te.Compute("take", out[0], func(i []expr.Expr) expr.Expr {
			index := wrapIndexExpr(indices.At(i[a.Axis:a.Axis+rank]...), data.Type.Shape[a.Axis])
			return data.At(slices.Concat(i[:a.Axis], []expr.Expr{index}, i[a.Axis+rank:])...)
		})}
	},
	Sample: func(r *rand.Rand) (TakeAttrs, []types.Tensor) {
		d := draw{r}
		shape := d.full(1, 4)
		return TakeAttrs{d.IntN(len(shape))}, []types.Tensor{types.Of(d.dtype(), shape...), types.Of(d.index(), d.shape(0, 3)...)}
	},
})

// indexOperand checks the element type of an operand that holds indices.
func indexOperand(name string, t types.Tensor) error {
	if !t.DType.IsInt() {
		return fmt.Errorf("%s are %s, not integers", name, t.DType)
	}
	return nil
}
